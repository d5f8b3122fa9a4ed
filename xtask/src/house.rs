//! The rules of the house, as tests: what the compiler does not hold, these do.

mod documents;
mod manifest;
mod modules;
mod one_way;
mod order;
mod purity;
mod repository;
mod source;
mod words;
