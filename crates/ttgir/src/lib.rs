//! Block-level IR with layouts: ttir plus, for every tensor, which lane holds which element.
