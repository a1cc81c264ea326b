//! `racehound cc` and `racehound c++`.

use std::ffi::OsString;

use clap::Args as ClapArgs;

pub(super) const DROP_IN: &str = "\
A drop-in compiler: takes any command line of gcc or clang and runs that compiler with it. \
What is compiled is instrumented, executables get Racehound's runtime; everything else, \
output and exit code included, is the compiler's own. So are all options, --help too.

The compiler is what RACEHOUND_CC says (RACEHOUND_CXX for c++), perhaps with a launcher and \
options, as in 'ccache gcc -m64'. Else it is clang, or gcc, whichever is there.

To leave a file alone, say -fno-sanitize=thread. Code without a C library (-ffreestanding, \
-nostdlib and the like) is left alone in any case. What should be linked with -static is \
linked dynamically instead, for the runtime needs that.

Where the compiler must be one word, use racehound-cc and racehound-cxx. The latter is also \
called racehound-c++, from the first time on that one of these commands is run where it is \
installed.";

/// A command line that belongs to a compiler.
#[derive(Debug, ClapArgs)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  racehound cc -g -O1 bank.c -o bank
  make CC='racehound cc' CXX='racehound c++'
  ./configure CC='racehound cc' CXX='racehound c++'
  CC='racehound cc' CXX='racehound c++' meson setup build
  cmake -B build -DCMAKE_C_COMPILER=racehound-cc -DCMAKE_CXX_COMPILER=racehound-c++"
)]
pub(crate) struct Compile {
    /// The compiler's options and files
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub(crate) arguments: Vec<OsString>,
}
