//! What Python needs beside launches: charts, timing on the host, tests of a device, names of the language, the
//! command.

pub(crate) mod chart;
pub(crate) mod command;
pub(crate) mod fixtures;
pub(crate) mod language;
pub(crate) mod timing;
