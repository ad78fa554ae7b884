import RenderHost

HostCommand.runProgram(commit: BuildCommit.short)
