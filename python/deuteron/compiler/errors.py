"""Errors of compiles, by the reference's import path."""

from ..errors import CompilationError, CompileTimeAssertionFailure, TritonError, UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "TritonError", "UnsupportedLanguageConstruct"]
