package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell shellName `arg:"" help:"bash, zsh or fish." placeholder:"SHELL"`
}

func (*completionCommand) Help() string {
	return `Commands and flags are completed, ids and names are not. For this shell alone:

    eval "$(ticketing completion bash)"
    source <(ticketing completion zsh)
    ticketing completion fish | source

For every shell from now on:

    ticketing completion bash >> ~/.bash_completion
    ticketing completion zsh > "${fpath[1]}/_ticketing"
    ticketing completion fish > ~/.config/fish/completions/ticketing.fish`
}

// shellName is a shell that completion is for.
type shellName string

const (
	bashShell shellName = "bash"
	zshShell  shellName = "zsh"
	fishShell shellName = "fish"
)

func (v *shellName) UnmarshalText(text []byte) error {
	switch *v = shellName(text); *v {
	case bashShell, zshShell, fishShell:
		return nil
	default:
		return badValue("must be bash, zsh or fish")
	}
}

func (c *completionCommand) Run(p *program, line *kong.Context) error {
	var script strings.Builder
	places := completionPlaces(line.Model.Node, "")
	switch c.Shell {
	case bashShell:
		writeBashCompletion(&script, places)
	case zshShell:
		writeZshCompletion(&script, places)
	case fishShell:
		writeFishCompletion(&script, places)
	}
	_, err := io.WriteString(p.stdout, script.String())
	return outputError(err)
}

// completionPlace is a command with what may follow it.
type completionPlace struct {
	path    string // the words of the command, each after a space
	choices []completionChoice
}

// completionChoice is a word that may follow a command.
type completionChoice struct {
	word, help string
	valued     bool // a flag that takes a value
}

// completionPlaces returns a command and all commands below it.
func completionPlaces(node *kong.Node, path string) []completionPlace {
	here := completionPlace{path: path}
	var below []completionPlace
	for _, child := range node.Children {
		here.choices = append(here.choices, completionChoice{word: child.Name, help: firstSentence(child.Help)})
		below = append(below, completionPlaces(child, path+" "+child.Name)...)
	}
	if len(node.Children) == 0 {
		for _, flags := range node.AllFlags(true) {
			for _, flag := range flags {
				here.choices = append(here.choices, completionChoice{
					word: "--" + flag.Name, help: firstSentence(flag.Help), valued: !flag.IsBool(),
				})
			}
		}
	}
	if path == " completion" {
		for _, shell := range []shellName{bashShell, zshShell, fishShell} {
			here.choices = append(here.choices, completionChoice{word: string(shell), help: "Complete in " + string(shell)})
		}
	}
	return append([]completionPlace{here}, below...)
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// valuedFlags returns the pattern of bash and zsh for the flags that take a value.
func valuedFlags(places []completionPlace) string {
	var flags []string
	for _, place := range places {
		for _, choice := range place.choices {
			if choice.valued {
				flags = append(flags, choice.word)
			}
		}
	}
	slices.Sort(flags)
	return strings.Join(slices.Compact(flags), " | ")
}

// writePlaceLoop writes the loop of bash and zsh that finds the command in the words of a line.
func writePlaceLoop(w io.Writer, places []completionPlace, words string) {
	patterns := make([]string, 0, len(places))
	for _, place := range places[1:] {
		patterns = append(patterns, shellWord(place.path))
	}
	fmt.Fprintf(w, "\tlocal place='' word\n\tfor word in %s; do\n\t\tcase \"$place $word\" in\n\t\t%s)\n"+
		"\t\t\tplace=\"$place $word\"\n\t\t\t;;\n\t\tesac\n\tdone\n\tcase $place in\n", words, strings.Join(patterns, " | "))
}

func writeBashCompletion(w io.Writer, places []completionPlace) {
	// After a flag that takes a value there are no words, so bash completes a file. It splits --flag=value at the sign.
	fmt.Fprintf(w, "# Completion of ticketing for bash.\n_ticketing() {\n\tlocal words=''\n\tCOMPREPLY=()\n"+
		"\tcase ${COMP_WORDS[COMP_CWORD-1]} in\n\t= | %s) return ;;\n\tesac\n", valuedFlags(places))
	writePlaceLoop(w, places, `"${COMP_WORDS[@]:1:COMP_CWORD-1}"`)
	for _, place := range places {
		words := make([]string, len(place.choices))
		for i, choice := range place.choices {
			words[i] = choice.word
		}
		fmt.Fprintf(w, "\t%s) words=%s ;;\n", shellWord(place.path), shellWord(strings.Join(words, " ")))
	}
	// The bash of macOS is 3.2, which has no mapfile.
	fmt.Fprint(w, "\tesac\n\twhile IFS= read -r word; do\n\t\tCOMPREPLY+=(\"$word\")\n"+
		"\tdone < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\n"+
		"complete -o default -F _ticketing ticketing\n")
}

func writeZshCompletion(w io.Writer, places []completionPlace) {
	fmt.Fprintf(w, "#compdef ticketing\n# Completion of ticketing for zsh.\n_ticketing() {\n\tlocal -a choices\n"+
		"\tcase ${words[CURRENT-1]} in\n\t%s)\n\t\t_files\n\t\treturn\n\t\t;;\n\tesac\n", valuedFlags(places))
	writePlaceLoop(w, places, `"${(@)words[2,CURRENT-1]}"`)
	for _, place := range places {
		fmt.Fprintf(w, "\t%s) choices=(\n", shellWord(place.path))
		for _, choice := range place.choices {
			fmt.Fprintf(w, "\t\t%s\n", shellWord(choice.word+":"+strings.ReplaceAll(choice.help, ":", `\:`)))
		}
		fmt.Fprint(w, "\t) ;;\n")
	}
	fmt.Fprint(w, "\tesac\n\t_describe ticketing choices || _files\n}\n"+
		"if [ \"${funcstack[1]}\" = _ticketing ]; then\n\t_ticketing \"$@\"\nelse\n\tcompdef _ticketing ticketing\nfi\n")
}

func writeFishCompletion(w io.Writer, places []completionPlace) {
	patterns := make([]string, 0, len(places))
	for _, place := range places[1:] {
		patterns = append(patterns, fishWord(place.path))
	}
	fmt.Fprintf(w, "# Completion of ticketing for fish.\nfunction __ticketing_at\n\tset -l place ''\n"+
		"\tset -l line (commandline -opc)\n\tfor word in $line[2..-1]\n\t\tswitch \"$place $word\"\n"+
		"\t\t\tcase %s\n\t\t\t\tset place \"$place $word\"\n\t\tend\n\tend\n\ttest \"$place\" = \"$argv[1]\"\nend\n",
		strings.Join(patterns, " "))
	for _, place := range places {
		at := fishWord("__ticketing_at " + fishWord(place.path))
		for _, choice := range place.choices {
			name, isFlag := strings.CutPrefix(choice.word, "--")
			switch {
			case choice.valued:
				fmt.Fprintf(w, "complete -c ticketing -n %s -r -l %s -d %s\n", at, name, fishWord(choice.help))
			case isFlag:
				fmt.Fprintf(w, "complete -c ticketing -n %s -l %s -d %s\n", at, name, fishWord(choice.help))
			default:
				fmt.Fprintf(w, "complete -c ticketing -n %s -f -a %s -d %s\n", at, name, fishWord(choice.help))
			}
		}
	}
}

// fishWord returns a text as one word of the shell fish.
func fishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
