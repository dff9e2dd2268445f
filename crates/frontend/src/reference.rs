//! The names of the language as documentation and type stubs read them: one entry for each operation and each function
//! of the library, with the parameters that a call binds.

use crate::{ops, stdlib};

/// A name of the language that can be called.
pub struct Entry {
    /// Its short path: `tl.load`, `libdevice.pow`, `descriptor.store`.
    pub path: String,
    /// Its parameters, as Python writes them.
    pub params: String,
    /// Whether it is a method of blocks, which are its first argument.
    pub is_method: bool,
    /// Operand types and result types, where the name stands for a closed list of variants: `fp32->fp32 | fp64->fp64`.
    pub types: Option<&'static str>,
}

/// Every name that kernels may call, in order. Names with an underscore in front are not part of the language.
pub fn entries() -> Vec<Entry> {
    let operations = ops::rows().map(|row| Entry {
        path: row.name.to_owned(),
        params: row.params.to_owned(),
        is_method: is_method(row.name),
        types: None,
    });
    let libdevice = ops::libdevice_types().map(|(name, types)| {
        let path = format!("libdevice.{name}");
        let params = ops::parameters_of(&path).join(", ");
        Entry { path, params, is_method: false, types: Some(types) }
    });
    let library = stdlib::signatures().map(|(name, params)| {
        let path = format!("tl.{name}");
        let is_method = is_method(&path);
        Entry { path, params, is_method, types: None }
    });
    let mut all: Vec<Entry> = operations.chain(libdevice).chain(library).collect();
    all.retain(|entry| !entry.path.contains("._"));
    all.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all
}

fn is_method(path: &str) -> bool {
    path.strip_prefix("tl.").is_some_and(|name| ops::find_method(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::entries;

    fn shown(path: &str) -> String {
        let all = entries();
        let entry = all.iter().find(|entry| entry.path == path).expect("the name is there");
        let kind = if entry.is_method { "method " } else { "" };
        let types = entry.types.map(|types| format!(" of {types}")).unwrap_or_default();
        format!("{kind}{path}({}){types}", entry.params)
    }

    #[test]
    fn operations_library_functions_and_libdevice_are_there() {
        assert_eq!(shown("tl.arange"), "tl.arange(start, end)");
        assert_eq!(
            shown("tl.cumsum"),
            "method tl.cumsum(input, axis=0, reverse=False, dtype: tl.constexpr = None)"
        );
        assert_eq!(shown("descriptor.load"), "descriptor.load(desc, offsets)");
        assert_eq!(
            shown("libdevice.hypot"),
            "libdevice.hypot(arg0, arg1) of fp32,fp32->fp32 | fp64,fp64->fp64"
        );
    }

    #[test]
    fn each_name_is_there_once() {
        let all = entries();
        assert!(all.windows(2).all(|pair| pair[0].path < pair[1].path));
        assert!(all.iter().all(|entry| !entry.path.contains("._")));
    }
}
