"""The reference as a subject: protocol 1 answered by refimpl itself, in the same process."""

from .subject import ReferenceSubject

__all__ = ["ReferenceSubject"]
