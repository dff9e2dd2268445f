//! The public API: parse a text, look at its entries, launch one.

use crate::assemble::assemble;
use crate::diagnostic::Diagnostic;
use crate::machine::code::{Code, Param};
use crate::machine::launch;
use crate::machine::place::SHARED_START;
use crate::machine::world::{Launch, Request};
use crate::syntax::types::Space;
use crate::syntax::{Extent, Init, Variable, parse};
use emulation::{Checks, Fault, Memory, Report};

/// Shared memory that a program can have at most.
const MOST_SHARED: usize = 228 * 1024;

/// Bytes of a variable at most.
const LARGEST: u64 = 1 << 30;

/// A decoded text.
pub struct Program {
    entries: Vec<Code>,
    variables: Vec<Variable>,
    files: Vec<(u32, String)>,
    version: (u32, u32),
    target: String,
}

/// What an entry asks of its launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its parameters, in order.
    pub params: &'a [Param],
    /// `.reqntid`, if given.
    pub reqntid: Option<[u32; 3]>,
    /// `.reqnctapercluster`, if given.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of shared memory of variables that have a size.
    pub static_shared: usize,
    /// Whether it has shared memory that the launch sizes.
    pub dynamic_shared: bool,
}

impl Program {
    /// Parses and decodes a text. Everything that cannot be run is refused here, with its line.
    pub fn parse(text: &str) -> Result<Program, Diagnostic> {
        let module = parse::parse(text)?;
        let mut entries = Vec::new();
        for function in module.functions.iter().filter(|function| function.entry && function.body.is_some()) {
            entries.push(assemble(&module, function)?);
        }
        for variable in &module.variables {
            if variable.bytes() > LARGEST {
                let message = format!(
                    "`{}` has {} bytes: at most {LARGEST} are possible",
                    variable.name,
                    variable.bytes()
                );
                return Err(Diagnostic::new(variable.line, message));
            }
            for init in &variable.init {
                if let Init::Symbol(name, _) = init
                    && !module.variables.iter().any(|other| other.name == *name)
                {
                    return Err(Diagnostic::new(variable.line, format!("`{name}` is not declared")));
                }
            }
        }
        let crate::syntax::Module { version, target, variables, files, .. } = module;
        Ok(Program { entries, variables, files, version, target })
    }

    /// Names of the entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|code| code.name.as_str())
    }

    /// `.version`, major and minor.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// `.target`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What an entry asks of its launches.
    pub fn entry(&self, name: &str) -> Option<Entry<'_>> {
        let code = self.code(name)?;
        Some(Entry {
            name: &code.name,
            params: &code.params,
            reqntid: code.reqntid,
            cluster: code.cluster,
            static_shared: code.shared - SHARED_START as usize,
            dynamic_shared: code.dynamic.is_some(),
        })
    }

    fn code(&self, name: &str) -> Option<&Code> {
        self.entries.iter().find(|code| code.name == name)
    }

    /// Runs an entry to its end. Variables of the module start from their initialisers at each launch.
    pub fn launch(
        &self,
        entry: &str,
        launch: &Launch,
        memory: &mut Memory,
        checks: Checks,
    ) -> Result<Report, Box<Fault>> {
        let Some(code) = self.code(entry) else {
            let names: Vec<&str> = self.entries().collect();
            let message = format!("there is no entry `{entry}`; there is: {}", names.join(", "));
            return Err(Box::new(Fault::launch(message)));
        };
        check_shape(code, launch).map_err(|message| Box::new(Fault::launch(message)))?;
        let params = pack(code, launch).map_err(|message| Box::new(Fault::launch(message)))?;
        let variables = self.place_variables(memory);
        let request =
            Request { code, files: &self.files, variables: variables.clone(), params, launch, checks };
        let result = launch::run(request, memory);
        for address in variables.into_iter().filter(|address| *address != 0) {
            memory.release(address);
        }
        result
    }

    /// Allocates the module's variables in global memory; 0 for those in other spaces.
    fn place_variables(&self, memory: &mut Memory) -> Vec<u64> {
        let addresses: Vec<u64> = self
            .variables
            .iter()
            .map(|variable| match variable.space {
                Space::Global | Space::Const => memory.allocate(variable.bytes() as usize),
                _ => 0,
            })
            .collect();
        for (variable, address) in self.variables.iter().zip(&addresses) {
            if *address != 0 {
                let bytes = self.initial_bytes(variable, &addresses);
                memory.write(*address, &bytes).expect("the variable was just allocated with this size");
            }
        }
        addresses
    }

    fn initial_bytes(&self, variable: &Variable, addresses: &[u64]) -> Vec<u8> {
        let size = variable.ty.bytes();
        let mut bytes = Vec::with_capacity(variable.bytes() as usize);
        for init in &variable.init {
            let bits = match init {
                Init::Bits(bits) => *bits,
                Init::Symbol(name, offset) => {
                    let index = self.variables.iter().position(|other| other.name == *name);
                    index.map_or(0, |index| addresses[index]).wrapping_add_signed(*offset)
                }
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..size.min(8)]);
        }
        if variable.extent != Extent::Open {
            bytes.resize(variable.bytes() as usize, 0);
        }
        bytes
    }
}

/// Whether a launch fits its entry.
fn check_shape(code: &Code, launch: &Launch) -> Result<(), String> {
    let name = &code.name;
    let threads = launch.block.iter().map(|dim| u64::from(*dim)).product::<u64>();
    if threads == 0 || threads > 1024 {
        return Err(format!("a program of {threads} threads: 1 to 1024 are possible"));
    }
    if let Some(required) = code.reqntid
        && required != launch.block
    {
        return Err(format!("`{name}` requires programs of {required:?} threads, not {:?}", launch.block));
    }
    if let Some(required) = code.cluster
        && required != launch.cluster
    {
        return Err(format!("`{name}` requires clusters of {required:?} programs, not {:?}", launch.cluster));
    }
    let [x, y, z] = launch.grid;
    if x > i32::MAX as u32 || y > 65535 || z > 65535 {
        return Err(format!("a grid of {x}, {y}, {z} programs: 2147483647, 65535, 65535 are possible"));
    }
    let programs = launch.cluster.iter().map(|dim| u64::from(*dim)).product::<u64>();
    if programs == 0 || programs > 16 {
        return Err(format!("a cluster of {programs} programs: 1 to 16 are possible"));
    }
    for (grid, size) in launch.grid.iter().zip(launch.cluster) {
        if grid % size != 0 {
            return Err(format!("clusters of {:?} do not divide the grid {:?}", launch.cluster, launch.grid));
        }
    }
    let shared = code.dynamic.unwrap_or(code.shared).saturating_add(launch.dynamic_shared);
    if shared > MOST_SHARED {
        return Err(format!("a program needs {shared} bytes of shared memory; there are {MOST_SHARED}"));
    }
    Ok(())
}

/// The block of parameters.
fn pack(code: &Code, launch: &Launch) -> Result<Vec<u8>, String> {
    let (found, expected) = (launch.arguments.len(), code.params.len());
    if found != expected {
        return Err(format!("`{}` has {expected} parameters, the launch gives {found}", code.name));
    }
    let mut bytes = vec![0; code.param_bytes];
    for (param, argument) in code.params.iter().zip(&launch.arguments) {
        if param.bytes != argument.0.len() {
            let found = argument.0.len();
            return Err(format!(
                "the parameter `{}` has {} bytes, its argument {found}",
                param.name, param.bytes
            ));
        }
        bytes[param.offset..param.offset + param.bytes].copy_from_slice(&argument.0);
    }
    Ok(bytes)
}
