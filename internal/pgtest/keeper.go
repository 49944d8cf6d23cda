package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience is the maximum time that any request to a server may take before the test fails.
const patience = 60 * time.Second

// keeperScript runs one server for a test process. It is a separate process in its own session, and reads its orders
// from a pipe that only the test process holds open. However that process ends, SIGKILL included, the pipe closes. The
// script then ends the server at once and removes its folder, and nothing is left. A killed server leaves a System V
// memory segment, which is named in the seventh line of postmaster.pid. PgBouncer has no children and stores nothing,
// so it is killed.
const keeperScript = `
stop=QUIT
folder=$(mktemp -d "$1/ticketing-postgres.XXXXXX" 2>/dev/null || mktemp -d "$3/ticketing-postgres.XXXXXX") || exit
echo "$folder"
binaries=$2 data=$folder/data log=$folder/log server=
while read -r verb argument; do
	case $verb in
	init)
		"$binaries/initdb" -D "$data" -U ticketing -A trust -E UTF8 --locale=C -N </dev/null >>"$log" 2>&1 &&
			echo "host all all 127.0.0.2/32 trust" >>"$data/pg_hba.conf"
		echo $? ;;
	clone)
		"$binaries/pg_basebackup" -D "$data" -d "$argument" -R -X stream -c fast -N </dev/null >>"$log" 2>&1
		echo $? ;;
	start)
		"$binaries/postgres" -D "$data" </dev/null >>"$log" 2>&1 &
		server=$!
		echo $server ;;
	pool)
		"$binaries/pgbouncer" "$folder/pgbouncer.ini" </dev/null >>"$log" 2>&1 &
		server=$! stop=KILL
		echo $server ;;
	end)
		kill -s "$argument" $server 2>/dev/null
		wait $server
		server=
		echo 0 ;;
	esac
done
if [ -n "$server" ]; then
	kill -s $stop $server
	kill -s CONT $server
	wait $server
fi 2>/dev/null
set -- $(sed -n 7p "$data/postmaster.pid" 2>/dev/null)
[ $# -ne 2 ] || ipcrm -m "$2" 2>/dev/null
rm -rf "$folder"
`

// keeper is the test process' side of a keeperScript.
type keeper struct {
	folder  string
	command *exec.Cmd
	orders  io.WriteCloser
	pipe    *os.File
	answers *bufio.Reader
}

// newKeeper starts a keeper, which creates its folder in parent. If parent is the system's folder for temporary files,
// which may be private to this user, the keeper may use /tmp instead.
func newKeeper(binaries, parent string) (*keeper, error) {
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	second := parent
	if parent == os.TempDir() {
		second = "/tmp"
	}
	command := exec.Command("/bin/sh", "-c", keeperScript, "keeper", parent, binaries, second)
	command.Dir = "/" // The server's user may have no access to the test's working directory.
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PG")
	}), "LC_ALL=C")
	if err := detach(command, owner); err != nil {
		return nil, err
	}
	k := &keeper{command: command}
	if k.orders, err = command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("pipe to the keeper: %w", err)
	}
	pipe, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe from the keeper: %w", err)
	}
	k.pipe, k.answers = pipe, bufio.NewReader(pipe)
	command.Stdout = writer
	err = command.Start()
	_ = writer.Close()
	if err != nil {
		_ = pipe.Close()
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	if k.folder, err = k.answer(); err != nil {
		_ = k.close()
		return nil, fmt.Errorf("make a folder in %s: %w", second, err)
	}
	return k, nil
}

// serverUser returns the user that a server must run as, or nil for the user of the test. PostgreSQL refuses to run as
// root.
func serverUser() (*user.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // Nobody else.
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			return found, nil
		}
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}

// order runs a program to its end.
func (k *keeper) order(words ...string) error {
	answer, err := k.ask(words...)
	if err == nil && answer != "0" {
		err = fmt.Errorf("exit status %s", answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", words[0], err, k.log())
	}
	return nil
}

// start starts the server, by the verb for its kind, and returns its process id.
func (k *keeper) start(verb string) (int, error) {
	answer, err := k.ask(verb)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(answer)
}

func (k *keeper) ask(words ...string) (string, error) {
	if _, err := fmt.Fprintln(k.orders, strings.Join(words, " ")); err != nil {
		return "", fmt.Errorf("write to the keeper: %w", err)
	}
	return k.answer()
}

func (k *keeper) answer() (string, error) {
	if err := k.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", fmt.Errorf("hear the keeper: %w", err)
	}
	line, err := k.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("hear the keeper: %w", err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// close ends the server, if it runs, and returns after the server and its folder are gone.
func (k *keeper) close() error {
	err := k.orders.Close()
	if e := k.command.Wait(); e != nil {
		err = e
	}
	return errors.Join(err, k.pipe.Close())
}

func (k *keeper) path(name string) string { return filepath.Join(k.folder, name) }

// log returns the end of the log of the server and its tools.
func (k *keeper) log() string {
	text, err := os.ReadFile(k.path("log"))
	if err != nil {
		return err.Error()
	}
	const most = 8 << 10
	return string(text[max(0, len(text)-most):])
}
