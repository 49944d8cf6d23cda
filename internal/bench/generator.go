package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// worker makes one process's share of the calls: this process's own, or another's.
type worker interface {
	slice(ctx context.Context, order sliceOrder) (*sliceOutcome, error)
	close(ctx context.Context) error
}

// generator is another process of this program that makes its share of the calls. It reads its plan, then orders, as
// JSON from its standard input, and writes the result of each to its standard output. It ends when its input does, so
// it never outlives this process.
type generator struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	ans *json.Decoder
	// wait waits for the process to end, at most generatorTimeout, and returns how it ended.
	wait     func() error
	reported bool // how the process ended has been reported
}

// generatorTimeout is how long a process may take to end.
const generatorTimeout = 10 * time.Second

func startGenerator(ctx context.Context, p *Program, plan loadPlan) (*generator, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	// The context does not kill the process; close ends it by closing its input.
	//nolint:gosec // It is this program.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), executable, p.Generator...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = generatorTimeout
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	g := &generator{cmd: cmd, in: in, to: json.NewEncoder(in), ans: json.NewDecoder(out)}
	g.wait = sync.OnceValue(func() error {
		_ = g.in.Close()
		late := time.AfterFunc(generatorTimeout, func() { _ = g.cmd.Process.Kill() })
		defer late.Stop()
		return g.cmd.Wait()
	})
	var ready struct{}
	if err := g.ask(plan, &ready); err != nil {
		return nil, errors.Join(err, g.close(ctx))
	}
	return g, nil
}

func (g *generator) ask(question, answer any) error {
	if err := g.to.Encode(question); err != nil {
		return g.lost(fmt.Errorf("write to a process of the bench: %w", err))
	}
	if err := g.ans.Decode(answer); err != nil {
		return g.lost(fmt.Errorf("read from a process of the bench: %w", err))
	}
	return nil
}

// lost returns the error for a process that no longer takes part. It reports how the process ended, if that was the
// cause.
func (g *generator) lost(err error) error {
	if ended := g.wait(); ended != nil {
		g.reported = true
		return fmt.Errorf("a process of the bench ended (%w) while it was needed: %w", ended, err)
	}
	return err
}

func (g *generator) slice(_ context.Context, order sliceOrder) (*sliceOutcome, error) {
	outcome := &sliceOutcome{Errors: map[string]int64{}}
	if err := g.ask(order, outcome); err != nil {
		return nil, err
	}
	return outcome, nil
}

func (g *generator) close(context.Context) error {
	if err := g.wait(); err != nil && !g.reported {
		return fmt.Errorf("a process of the bench: %w", err)
	}
	return nil
}

// Generate makes one process's share of the calls of a bench that another process runs: it is the main function of a
// process that [Run] started with the arguments in [Program.Generator]. It reads orders from in, writes results to out,
// and returns at the end of in.
func Generate(ctx context.Context, p *Program, in io.Reader, out io.Writer) (err error) {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var plan loadPlan
	if err := orders.Decode(&plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	own := &benchDatabase{
		program: p, dsn: plan.Database, schema: plan.Schema, serves: plan.HTTP,
		rowGates: plan.RowGates, directNodes: plan.DirectNodes,
	}
	opened, closeStore, err := own.open(ctx, plan.Connections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	l, err := newLoad(ctx, p, plan, opened)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	if err := answers.Encode(struct{}{}); err != nil {
		return fmt.Errorf("send the result: %w", err)
	}
	for {
		var order sliceOrder
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		outcome, err := l.slice(ctx, order)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := answers.Encode(outcome); err != nil {
			return fmt.Errorf("send the result: %w", err)
		}
	}
}
