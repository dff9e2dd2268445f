//! `deuteron inspect`.

use crate::source::Source;
use crate::{Failure, cached, output};
use ::inspect::{Report, Request, Texts};
use clap::Args;
use runtime::compile::Kernel;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Say what each access, layout conversion and dot of a kernel costs, and what bounds it.
#[derive(Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    source: Source,
    /// A type or value for each parameter: `*fp32:16, i32, 1024`.
    #[arg(long, short)]
    signature: Option<String>,
    /// The value of an integer parameter, such as `n=4096`; may be repeated. Others are assumed.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// The grid, up to three sizes: `64` or `64,2`.
    #[arg(long, value_delimiter = ',')]
    grid: Vec<u32>,
    /// The device whose limits count, by a part of its name; the likeliest of the target by default.
    #[arg(long)]
    device: Option<String>,
    /// Also write a page for the browser: the source beside every stage, lines linked.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let report = self.report()?;
        output::write(::inspect::terminal::terminal(&report).as_bytes())?;
        if let Some(path) = &self.html {
            let page = ::inspect::html::html(&report);
            std::fs::write(path, page)
                .map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))?;
            eprintln!("{}", path.display());
        }
        Ok(())
    }

    fn report(&self) -> Result<Report, Failure> {
        if self.source.file.extension().is_some_and(|extension| extension == "ttgir") {
            return self.of_layouts();
        }
        if let Some(kernel) = cached::find(&self.source.file)? {
            self.refuse_compile_options()?;
            return self.of_kernel(&kernel);
        }
        self.of_kernel(self.source.compile(self.signature.as_deref())?.as_ref())
    }

    /// A kernel in the cache is what it was compiled for.
    fn refuse_compile_options(&self) -> Result<(), Failure> {
        let source = &self.source;
        let given = [
            ("--signature", self.signature.is_some()),
            ("--kernel", source.kernel.is_some()),
            ("--target", source.target.is_some()),
            ("--emulate", source.emulate.is_some()),
            ("--option", !source.options.is_empty()),
            ("--always-compile", source.always_compile),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure(format!(
                "{} is a kernel of the cache, which is compiled already: leave {option} out, or name its source",
                source.name()
            ))),
        }
    }

    fn of_kernel(&self, kernel: &Kernel) -> Result<Report, Failure> {
        let target = Arc::clone(kernel.target());
        let text = |name: &str| {
            let stage = kernel.stage(name).ok().filter(|stage| stage.text)?;
            Some(String::from_utf8_lossy(&stage.bytes).into_owned())
        };
        let surveyed = text(target.surveyed_stage()).ok_or_else(|| {
            let name = target.surveyed_stage();
            Failure(format!(
                "the kernel in the cache was kept without its stage {name} (by the interpreter, or with \
                 TRITON_STORE_BINARY_ONLY): compile its source with --always-compile"
            ))
        })?;
        let ttir = text("ttir");
        // The first stage is the code before any pass.
        let names = kernel.stage_names().into_iter().filter(|name| *name != "source");
        let options = kernel.options.clone();
        self.ask(&Request {
            target: target.as_ref(),
            options: &options,
            ttir: ttir.as_deref(),
            surveyed: &surveyed,
            artifact: Some(&kernel.artifact),
            texts: Texts::of(names, |name| kernel.stage(name).cloned()),
            ..self.request(target.as_ref(), &options)?
        })
    }

    /// A file that already has layouts.
    fn of_layouts(&self) -> Result<Report, Failure> {
        let target = self.source.target()?;
        if target.surveyed_stage() != "ttgir" {
            let facts = target.facts();
            let backend = facts.backend;
            return Err(Failure(format!(
                "the target {backend} has no layouts: name another one with --target"
            )));
        }
        let options = self.source.compile_options(target.as_ref())?;
        let text = self.source.text()?;
        self.ask(&Request {
            surveyed: &text,
            texts: Texts { stages: vec![("ttgir".to_owned(), text.clone())], missing: Vec::new() },
            ..self.request(target.as_ref(), &options)?
        })
    }

    /// What is asked, without the code.
    fn request<'a>(
        &self,
        target: &'a dyn target::Target,
        options: &'a target::CompileOptions,
    ) -> Result<Request<'a>, Failure> {
        let grid = match self.grid.as_slice() {
            [] => None,
            [x] => Some([*x, 1, 1]),
            [x, y] => Some([*x, *y, 1]),
            [x, y, z] => Some([*x, *y, *z]),
            _ => return Err(Failure("a grid has three sizes at most".into())),
        };
        if grid.is_some_and(|grid| grid.contains(&0)) {
            return Err(Failure("a grid of no programs does nothing: all sizes must be at least 1".into()));
        }
        Ok(Request {
            target,
            options,
            ttir: None,
            surveyed: "",
            artifact: None,
            texts: Texts::default(),
            args: self.arguments()?,
            grid,
            device: self.device.clone(),
            read: &|path| std::fs::read_to_string(path).ok(),
        })
    }

    fn arguments(&self) -> Result<BTreeMap<String, i64>, Failure> {
        let parse = |text: &String| {
            let parts = text.split_once('=');
            let value = parts.and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)));
            value.map(|(name, value)| (name.to_owned(), value)).ok_or_else(|| {
                Failure(format!("--arg {text} is not of the form NAME=VALUE with a whole number"))
            })
        };
        self.args.iter().map(parse).collect()
    }

    fn ask(&self, request: &Request<'_>) -> Result<Report, Failure> {
        ::inspect::inspect(request).map_err(Failure::from)
    }
}
