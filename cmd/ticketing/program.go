package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/floatgate/ticketing/mail"
)

// program is one run of the command line.
type program struct {
	*flags

	references []reference // of the command, to be looked up
	warnings   []string    // printed when the command has ended

	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer

	sole     bool          // The process does nothing else.
	resolver mail.Resolver // looks up a domain's records; nil: that of the machine
}

// flags are the flags that every command has.
type flags struct {
	Database      string     `group:"all" help:"The database: sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME, or memory:, which is gone at exit (demo, serve and bench only). Set a URL with a password as TICKETING_DATABASE: other users can see a command line. Default: sqlite:ticketing.db." placeholder:"URL" xor:"database"`
	DatabaseFile  secretFile `group:"all" help:"File that holds that URL." placeholder:"FILE" xor:"database"`
	Gates         string     `group:"all" default:"session" enum:"session,rows,nodes" help:"How calls of one company wait for each other in PostgreSQL: session, by locks of sessions on one server; rows, by locks of rows, where servers and commands connect to several nodes of a cluster; or nodes, like rows, and each company is reached on its own node. Never mix session with the others." placeholder:"KIND"`
	SecretKey     string     `group:"all" help:"Master secret: 32 bytes or more, in hex or base64. SQLite makes one on first use and keeps it in PATH.key; PostgreSQL requires one. While one replaces another, give both, separated by a comma, the new one first. Set it as TICKETING_SECRET_KEY: other users can see a command line." placeholder:"KEY" xor:"secret-key"`
	SecretKeyFile secretFile `group:"all" help:"File that holds the master secret." placeholder:"FILE" xor:"secret-key"`
	Actor         claim      `group:"all" help:"Your name for the audit log, 1 to 64 characters. The log also keeps the system user and the host." placeholder:"TEXT"`
	JSON          bool       `group:"all" help:"Print exactly one JSON value." name:"json" xor:"output"`
	Quiet         bool       `group:"all" help:"Print only ids, one on each line. Instead of its id, a new API key or sign-in link is printed: it is shown only once." short:"q" xor:"output"`

	ShowVersion versionFlag `group:"all" help:"Print the version of the program." name:"version"`
}

// commands is the grammar of the command line.
type commands struct {
	flags

	Demo    demoCommand     `cmd:"" group:"serve" help:"Serve a demo company that is ready to sell, and sell one ticket."`
	Serve   serveCommand    `cmd:"" group:"serve" help:"Serve the public API and the console."`
	Migrate migrateCommand  `cmd:"" group:"serve" help:"Bring the tables of the database up to date."`
	Bench   benchCommand    `cmd:"" group:"serve" help:"Measure how fast this machine sells, and verify the books."`
	Cluster clusterCommands `cmd:"" group:"serve" help:"Show the state of a Citus cluster."`

	Company  companyCommands  `cmd:"" group:"company" help:"Create, list, rename, suspend and activate companies."`
	KYB      kybCommands      `cmd:"" group:"company" help:"Edit, submit and decide the verification of companies." name:"kyb"`
	Branding brandingCommands `cmd:"" group:"company" help:"Set how a company looks to its buyers."`
	Member   memberCommands   `cmd:"" group:"company" help:"Manage who acts for a company, and with which role."`

	Commission  commissionCommands  `cmd:"" group:"money" help:"Schedule the commission that a company earns."`
	Float       floatCommands       `cmd:"" group:"money" help:"Fund a company's FLOAT."`
	Wallet      walletCommands      `cmd:"" group:"money" help:"Show, suspend and activate wallets."`
	Ledger      ledgerCommands      `cmd:"" group:"money" help:"List, verify and export the movements of wallets."`
	BankAccount bankAccountCommands `cmd:"" group:"money" help:"Set the bank account that a company's earnings are paid to." name:"bank-account"`
	Settlement  settlementCommands  `cmd:"" group:"money" help:"List, request, approve and reject payouts of EARNINGS."`
	Stats       statsCommands       `cmd:"" group:"money" help:"Compute the sums of sales from the orders."`

	Event    eventCommands    `cmd:"" group:"sales" help:"List and end events."`
	Order    orderCommands    `cmd:"" group:"sales" help:"Find, refund and cancel orders."`
	Buyer    buyerCommands    `cmd:"" group:"sales" help:"Show a buyer, or erase one on request."`
	Category categoryCommands `cmd:"" group:"sales" help:"Manage the platform-wide categories of events."`

	Key     keyCommands     `cmd:"" group:"connect" help:"Issue, rotate, revoke and list API keys."`
	Webhook webhookCommands `cmd:"" group:"connect" help:"Manage endpoints, deliveries and replays, and relay events to a developer's machine."`
	Embed   embedCommands   `cmd:"" group:"connect" help:"Print how a website sells with the embed SDK."`
	Proxy   proxyCommands   `cmd:"" group:"connect" help:"Check the proxy of a shop in a browser."`

	MailSender   mailSenderCommands   `cmd:"" group:"mail" help:"Set, check and test the sender of ticket mails." name:"mail-sender"`
	Notification notificationCommands `cmd:"" group:"mail" help:"List ticket mails, and send them again."`

	Staff staffCommands `cmd:"" group:"people" help:"Manage who works for the platform, and with which role."`
	User  userCommands  `cmd:"" group:"people" help:"Let people sign in to the console, show them, and sign them out."`
	Audit auditCommands `cmd:"" group:"people" help:"List what operators did."`

	HelpText   helpCommand       `cmd:"" group:"program" help:"Show the help of a command." name:"help"`
	Completion completionCommand `cmd:"" group:"program" help:"Print a script that completes commands in a shell."`
	Health     healthCommand     `cmd:"" group:"program" help:"Ask a server on this machine whether it is ready."`
	Version    versionCommand    `cmd:"" group:"program" help:"Print version, commit and Go version."`
}

// helpCommand shows the help of another command.
type helpCommand struct {
	Command []string `arg:"" help:"The command." optional:"" placeholder:"COMMAND"`
}

func (c *helpCommand) Run(ctx context.Context, p *program) error {
	return p.run(ctx, append(c.Command, "--help"))
}

// versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset runs before anything else is parsed.
func (versionFlag) BeforeReset(parser *kong.Kong, p *program) error {
	if p.JSON {
		defer parser.Exit(exitDone)
		return encode(p.stdout, built())
	}
	b := built()
	_, err := fmt.Fprintf(parser.Stdout, "ticketing %s (commit %s, %s)\n", b.Version, b.Commit, b.Go)
	parser.Exit(exitDone)
	return err
}

const description = `A prepaid-float ticketing service: companies prepay, sell tickets through the public API, ` +
	`and earn a commission.`

// Help returns the text that follows the description in the help of the program.
func (*commands) Help() string {
	return `Begin with

    ticketing demo

or, for a company of your own,

    COMPANY=$(ticketing company create --name 'Lagos Live' --quiet)
    ticketing kyb approve $COMPANY
    ticketing commission schedule $COMPANY --value 250 --unit BASIS_POINTS
    ticketing float credit $COMPANY --amount 1000000.00 --reference pay-0001
    ticketing key issue $COMPANY --name storefront --all-grants
    ticketing serve

COMPANY is the id of a company, the beginning of its id, or its name. EVENT, KEY and the like are ids; each has a ` +
		`command that lists them. TIME is 2026-12-31T18:00:00+01:00, or 2026-12-31 for the beginning of that day in UTC.

Every flag can be given as an environment variable: --web-origin as TICKETING_WEB_ORIGIN. Commands work while a ` +
		`server runs on the same database. If there is no database, demo, serve, migrate and company create make one.`
}

// run parses the arguments and runs the command they name.
func (p *program) run(ctx context.Context, args []string) error {
	// Until the arguments are parsed, errors are printed in the format that they seem to request.
	p.flags = &flags{JSON: asksForJSON(args, p.getenv)}
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return badValue("argument %d is not valid UTF-8", i+1)
		}
	}

	helped := false
	var help bytes.Buffer
	line := commands{}
	parser, err := grammar(&line,
		kong.Writers(&help, p.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Resolvers(p.environment()),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		return fmt.Errorf("command line: %w", err)
	}
	if len(args) == 0 {
		_, _ = parser.Parse([]string{"--help"})
		_, _ = io.WriteString(p.stderr, formatParserText(help.String()))
		return errNoCommand
	}
	if args[0] == "help" && len(args) > 1 && args[1] != "--help" {
		return p.run(ctx, append(slices.Clone(args[1:]), "--help"))
	}
	parsed, err := parser.Parse(joinNegativeValues(parser.Model.Node, args))
	if !helped {
		command := ""
		if err == nil {
			command = parsed.Command()
		}
		p.warnOfVariables(parser.Model.Node, command)
	}
	if helped {
		_, err := io.WriteString(p.stdout, formatParserText(help.String()))
		return outputError(err)
	}
	if err != nil {
		return wrongCall(err)
	}
	p.flags = &line.flags
	p.references = references(parsed.Selected())
	// It is not a default of the flag, which the parser would treat as given.
	p.Database = cmp.Or(p.DatabaseFile.text, p.Database, sqlitePrefix+"ticketing.db")
	p.SecretKey = cmp.Or(p.SecretKeyFile.text, p.SecretKey)
	if err := p.refuseUnconfirmed(parsed.Selected()); err != nil {
		return err
	}
	return parsed.Run()
}

// helpWidth is the width of a line of help, in characters.
const helpWidth = 80

// grammar returns the parser of a command line.
func grammar(line *commands, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(line, append(options,
		kong.Name("ticketing"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, FlagsLast: true, NoExpandSubcommands: true, WrapUpperBound: helpWidth,
		}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "serve", Title: "Serving:"},
			{Key: "company", Title: "Companies:"},
			{Key: "money", Title: "Money:"},
			{Key: "sales", Title: "Sales:"},
			{Key: "connect", Title: "Connections:"},
			{Key: "mail", Title: "Ticket mails:"},
			{Key: "people", Title: "People:"},
			{Key: "program", Title: "This program:"},
			{Key: "all", Title: "Flags of every command:"},
		}),
		kong.ValueFormatter(withDefault),
		kong.KindMapper(reflect.Bool, boolMapper{}),
	)...)
}

// joinNegativeValues makes "--flag -5" one word, "--flag=-5". The parser takes every word with a leading hyphen for a
// flag and would report a usage error. A next word that begins with two hyphens, or is itself a flag, is not joined:
// then the value is missing.
func joinNegativeValues(program *kong.Node, args []string) []string {
	valued, short := map[string]bool{}, map[string]bool{}
	_ = kong.Visit(program, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			valued["--"+flag.Name] = !flag.IsBool()
			if flag.Short != 0 {
				short["-"+string(flag.Short)] = true
			}
		}
		return next(nil)
	})
	words := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return append(words, args[i:]...)
		}
		if valued[word] && i+1 < len(args) {
			i++
			value := args[i]
			if len(value) < 2 || value[0] != '-' || value[1] == '-' || short[value] {
				words = append(words, word)
				word = value
			} else {
				word += "=" + value
			}
		}
		words = append(words, word)
	}
	return words
}

// placeholder matches an argument as the parser prints it.
var placeholder = regexp.MustCompile(
	"<(company|key|event|category|settlement|order|user|email|endpoint|delivery|type|shell|command)>",
)

// strayWord matches the parser's error about an unexpected word with digits. The word may be a bank account number, in
// any spelling, and must not be repeated.
var strayWord = regexp.MustCompile(`(?s)unexpected argument .*\p{Nd}.*?(, did you mean .*)?$`)

// formatParserText returns a text of the parser with arguments and alternatives written as in the examples.
func formatParserText(text string) string {
	text = placeholder.ReplaceAllStringFunc(text, func(name string) string {
		return strings.ToUpper(strings.Trim(name, "<>"))
	})
	text = strings.Replace(text, "--grants=GRANT,... --all-grants", "(--grants=GRANT,...|--all-grants)", 1)
	text = missingArgument.ReplaceAllString(text, "missing argument $1")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "Usage: "):
			lines[i] = foldLine(line, "", " ")
		case strings.HasPrefix(line, "    "):
			lines[i] = foldLine(line, ` \`, " --", " ticketing ")
		}
	}
	return strings.Join(lines, "\n")
}

// missingArgument matches the parser's error about an argument that is missing.
var missingArgument = regexp.MustCompile(`expected "(?:\[)?([A-Z]+)(?: \.\.\.\])?"`)

// foldLine breaks a line of help that is too long before separators, such as those before the flags of an example. Each
// part except the last ends with a mark.
func foldLine(line, mark string, separators ...string) string {
	const indent = "      "
	var folded strings.Builder
	for utf8.RuneCountInString(line) > helpWidth {
		at := 0
		for _, separator := range separators {
			at = max(at, strings.LastIndex(line[:helpWidth-len(mark)], separator))
		}
		if at <= len(indent) {
			break // The first word is too long, and is kept.
		}
		folded.WriteString(line[:at] + mark + "\n")
		line = indent + strings.TrimPrefix(line[at:], " ")
	}
	return folded.String() + line
}

// withDefault returns the help of a flag, followed by its default if it has one.
func withDefault(value *kong.Value) string {
	if value.HasDefault && value.Default != "" {
		return value.Help + " Default: " + value.Default + "."
	}
	return value.Help
}

// environment returns a resolver for flags that are not on the command line. It takes a flag's value from its
// environment variable.
func (p *program) environment() kong.Resolver {
	return kong.ResolverFunc(func(line *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if hasNoVariable(flag.Name) {
			return nil, nil
		}
		value := p.getenv(variable(flag.Name))
		if value == "" || isExcluded(line, flag) {
			return nil, nil
		}
		if !utf8.ValidString(value) {
			return nil, badValue("the variable %s is not valid UTF-8", variable(flag.Name))
		}
		return value, nil
	})
}

// isExcluded reports whether the command line has a flag that excludes this one. The command line takes precedence over
// the environment.
func isExcluded(line *kong.Context, flag *kong.Flag) bool {
	return slices.ContainsFunc(line.Path, func(given *kong.Path) bool {
		return given.Flag != nil && !given.Resolved && slices.ContainsFunc(given.Flag.Xor, func(group string) bool {
			return slices.Contains(flag.Xor, group)
		})
	})
}

// asksForJSON reports whether --json is among arguments that may not even parse.
func asksForJSON(args []string, getenv func(string) string) bool {
	asked, _ := parseBool(getenv(variable("json")))
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" {
			asked = true
		}
		if value, ok := strings.CutPrefix(arg, "--json="); ok {
			asked, _ = parseBool(value)
		}
	}
	return asked
}

// usageError is an error in how the program was called: exit status 2.
type usageError struct {
	text string
	code string // Defaults to INVALID_REQUEST.
}

func (e *usageError) Error() string { return e.text }

// errNoCommand has no text, since the help was printed instead.
var errNoCommand = &usageError{}

// wrongCall converts an error of the parser to a bad value or a usage error.
func wrongCall(err error) error {
	if _, ok := errors.AsType[*valueError](err); ok {
		return &valueError{text: formatParserText(err.Error())}
	}
	help := "ticketing --help"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			help = node.FullPath() + " --help"
		}
	}
	text := strayWord.ReplaceAllString(formatParserText(err.Error()), "unexpected argument that has digits$1")
	if flag, _, ok := strings.Cut(text, " value but got "); ok {
		// The parser quotes what it found instead of the value: the end of the line, or another flag.
		flag, _, _ = strings.Cut(flag, ": expected ")
		text = flag + " needs a value; write " + flag + "=VALUE for one that begins with --"
	}
	return &usageError{text: text + "\nRun \"" + help + "\" for how it is used."}
}
