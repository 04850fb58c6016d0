package conversation

import (
	"fmt"
	"strings"

	"deerflow/internal/cli"
)

// howToComeBack says where the run goes on and which command leads back to it.
func (c *conversation) howToComeBack() string {
	if c.server.own {
		return fmt.Sprintf("The server of this command stops with it; the run is kept in %s and goes on at the next start there.\n"+
			"  thread %s\n  run    %s\nCome back with:\n  %s", c.o.DataDir, c.threadID, c.run.ID, c.comeBack())
	}
	return fmt.Sprintf("The run goes on without this terminal.\n  thread %s\n  run    %s\nCome back with:\n  %s",
		c.threadID, c.run.ID, c.comeBack())
}

// howToAnswer says that a question stays open and which commands answer it.
func (c *conversation) howToAnswer() string {
	return fmt.Sprintf("The run waits for your answer, for as long as it takes. Be asked again, or answer at once, with:\n  %s\n  %s",
		c.comeBack(), c.command(`"..."`))
}

// comeBack is the command that follows the thread again.
func (c *conversation) comeBack() string { return c.command("--attach") }

// command is a command line that goes on in the thread.
func (c *conversation) command(rest string) string {
	words := []string{cli.Quoted(cli.ProgramName(c.o.Program)), "run"}
	for _, flag := range c.o.Flags {
		words = append(words, cli.Quoted(flag))
	}
	return strings.Join(append(words, "--thread", c.threadID, rest), " ")
}

// capital begins a sentence.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
