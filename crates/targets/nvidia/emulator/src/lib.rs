//! Runs PTX text on a processor, one lane after another, and watches what it does.
