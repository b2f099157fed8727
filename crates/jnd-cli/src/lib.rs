//! The `jnd` command: a thin layer over the `jnd` library. Every job that has to do with video is the library's; this
//! program reads arguments, shows progress, prints what happened and turns it into an exit code.

mod bench;
mod bench_card;
mod bench_score;
mod demo;
mod doctor;
mod exit;
mod interrupt;
mod limit;
mod magnify;
mod pooled;
mod presets;
mod progress;
mod say;
mod score;
mod shell;
mod stdout;
mod units;
mod usage;

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{ArgAction, CommandFactory, Parser, Subcommand};
use jnd::video::simd::Level;

/// Magnifies changes in video too small to see, and scores the ones viewers notice.
#[derive(Debug, Parser)]
#[command(name = "jnd", version, max_term_width = 100, propagate_version = false)]
struct Cli {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    /// Make changes in a video larger that are too small to see.
    Magnify(Box<magnify::Args>),
    /// Score a distorted clip against its reference: motion and SpEED, with the arguments of the vmaf command.
    #[command(disable_help_flag = true)]
    Score(Box<score::Args>),
    /// List the presets and what they stand for.
    Presets,
    /// Make a small clip with a known pulse and sway, magnify it and measure the result.
    Demo(demo::Args),
    /// Measure how fast this machine magnifies, on the processor or on a card, beside what its memory can do.
    Bench(Box<bench::Args>),
    /// Say what works on this machine, and what is missing.
    Doctor,
    /// Print a shell's completions.
    Completions(shell::CompletionArgs),
    /// Print the manual page.
    #[command(hide = true)]
    Man,
}

/// How much to print. Flattened into the subcommands, since not every one has room for these letters.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Verbosity {
    /// Print errors, and warnings of a result that is not what the input was meant to give, and nothing else.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: causes of errors and what is done; twice for details.
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Commands {
    /// Whether it does something that vector instructions speed up.
    fn computes(&self) -> bool {
        matches!(self, Self::Magnify(_) | Self::Score(_) | Self::Demo(_) | Self::Bench(_))
    }

    fn verbosity(&self) -> Verbosity {
        match self {
            Self::Magnify(args) => args.verbosity,
            Self::Score(args) => args.verbosity,
            Self::Demo(args) => args.verbosity,
            Self::Bench(args) => match &args.what {
                Some(bench::What::Score(args)) => args.verbosity,
                None => args.verbosity,
            },
            Self::Presets | Self::Doctor | Self::Completions(_) | Self::Man => Verbosity::default(),
        }
    }
}

/// What works on this machine and what is missing, as `jnd doctor` prints it: what, and how it stands.
pub fn doctor() -> Vec<(&'static str, String)> {
    doctor::facts()
}

/// Reads a description of raw frames as the command takes it: `640x480:yuv420p:25`.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn raw_geometry(text: &str) -> Result<jnd::video::RawGeometry, String> {
    units::raw(text)
}

/// Runs the command with the given arguments, the program's name first, and returns its exit code.
///
/// This is the whole program: it takes over Ctrl-C and prints to the standard streams.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    // `score` has the exit codes of the command whose arguments it takes.
    let usage = if args.get(1).is_some_and(|a| a == "score") { score::USAGE } else { exit::USAGE };
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(e) => return refuse(&e, &args, usage),
    };
    let verbosity = cli.command.verbosity();
    start_log(verbosity);
    if cli.command.computes()
        && let Err(unknown) = check_environment()
    {
        return exit::Failure::new(usage, unknown).report(verbosity);
    }
    interrupt::install();
    limit::install();
    let outcome = match cli.command {
        Commands::Magnify(args) => magnify::run(&args),
        Commands::Score(args) => score::run(&args),
        Commands::Presets => presets::run(),
        Commands::Demo(args) => demo::run(&args),
        Commands::Bench(args) => bench::run(&args),
        Commands::Doctor => doctor::run(),
        Commands::Completions(args) => shell::completions(&args, Cli::command()),
        Commands::Man => shell::manual(Cli::command()),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(verbosity),
    }
}

/// Prints what the argument parser has to say, and returns the exit code.
fn refuse(error: &clap::Error, args: &[OsString], usage: u8) -> u8 {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as MissingCommand;
    if !error.use_stderr() || error.kind() == MissingCommand {
        // Help and version go to standard output and are no errors. A closed pipe there is none either.
        let _ = error.print();
        return if error.use_stderr() { usage } else { exit::DONE };
    }
    let mut command = Cli::command();
    command.build();
    let mut name = "jnd".to_owned();
    for word in args.iter().skip(1).map_while(|a| a.to_str()) {
        let Some(next) = command.find_subcommand(word).cloned() else { break };
        name = format!("{name} {word}");
        command = next;
    }
    say::line(format_args!("jnd: error: {}", usage::message(error, &name)));
    // Scripts made for the command whose arguments `score` takes find the usage below the message.
    if name == "jnd score" {
        say::line(command.render_usage());
    }
    usage
}

/// Refuses values of environment variables that would count as unset.
fn check_environment() -> Result<(), Box<dyn std::error::Error>> {
    Level::asked()?;
    match std::env::var_os("JND_CHECK") {
        Some(v) if !["", "0", "1"].iter().any(|known| v == *known) => {
            Err(format!("JND_CHECK is {v:?}; set it to 1 to check every frame, or unset it").into())
        }
        _ => Ok(()),
    }
}

/// Sends the library's log to standard error: warnings always (unless quiet), more with `-v`.
fn start_log(verbosity: Verbosity) {
    use tracing_subscriber::filter::LevelFilter;
    let level = match (verbosity.quiet, verbosity.verbose) {
        (true, _) => LevelFilter::OFF,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| say::Errors)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .finish();
    // Where a program that embeds the command logs already, its log goes on.
    let _ = tracing::subscriber::set_global_default(log);
}
