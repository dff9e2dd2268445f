//! What NVIDIA GPUs do in their own way when blocks become code of lanes.

pub mod matrix;
