//! From blocks with layouts to what each lane does: ttgir to llir.
