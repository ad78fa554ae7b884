/// The calls that changed files so far: of this program, and of the libraries in it. The call with the number in the
/// environment variable PAGEKIT_KILL_AT, from 1 on, is the last of the process.
long pk_changes(void);
