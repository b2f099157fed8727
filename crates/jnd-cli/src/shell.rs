//! What packagers install beside the program: completions and the manual page, made from the arguments' definition.

use std::io::Write;

use crate::exit::{DONE, Failure};

/// Arguments of `jnd completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionArgs, mut command: clap::Command) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "jnd", &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(DONE)
}

/// Prints the manual page, subcommands included.
pub(crate) fn manual(mut command: clap::Command) -> Result<u8, Failure> {
    // Building names each subcommand's page `jnd-NAME`.
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        clap_mangen::Man::new(sub.clone()).render(&mut text)?;
    }
    std::io::stdout().write_all(&text)?;
    Ok(DONE)
}
