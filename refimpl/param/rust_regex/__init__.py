"""Regular expressions as Rust's `regex` crate 1.13 means them: read here, searched for by RE2."""
