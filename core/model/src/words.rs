//! Values that are single words: one list gives the word for each and the way back.

use std::fmt;

/// Gives an enum whose values are single words all that TrafficClass and Grade have: the list of
/// its values, the word for each, and the way from word to value and back.
macro_rules! words {
    ($($name:ident: $($word:literal $variant:ident),+;)*) => {$(
        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::NotAWord;

            fn from_str(text: &str) -> Result<Self, $crate::NotAWord> {
                let named = Self::ALL.iter().find(|value| value.as_str() == text);
                named.copied().ok_or($crate::NotAWord(&[$($word),+]))
            }
        }
    )*};
}

pub(crate) use words;

/// The word is none of these.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAWord(pub(crate) &'static [&'static str]);

impl fmt::Display for NotAWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", self.0.join(", "))
    }
}

impl std::error::Error for NotAWord {}
