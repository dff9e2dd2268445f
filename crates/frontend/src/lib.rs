//! Python source text to ttir.
