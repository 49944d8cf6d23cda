package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// The title and version of the contract's document (section 9).
const (
	ContractTitle   = "Service Public API"
	ContractVersion = "1"
)

// Verify reads the deployment's openapi.json and checks that it is the document of this contract. If not, the error is
// [ErrContract]. Every other method does this before its first request; call Verify to fail early. After a success the
// document is not requested again. Concurrent calls share one request, and each retries by itself if that fails.
func (c *Client) Verify(ctx context.Context) error {
	if c.verified.Load() {
		return nil
	}
	question := call{method: http.MethodGet, path: "/openapi.json", safe: true, open: true}
	err := c.exchange(ctx, question, func(id string) error {
		return c.document.do(ctx, func(ctx context.Context) error {
			if c.verified.Load() {
				return nil // A request that has just ended succeeded.
			}
			if err := c.attempt(ctx, question, nil, id, isContract); err != nil {
				return err
			}
			c.verified.Store(true)
			return nil
		})
	})
	_, answered := errors.AsType[*Error](err)
	if errors.Is(err, ErrAnswer) || answered && !question.again(err) {
		return fmt.Errorf("%w (%s): %w", ErrContract, c.base+question.path, err)
	}
	return err
}

func isContract(body []byte) error {
	var document struct {
		Info struct {
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return err
	}
	if info := document.Info; info.Title != ContractTitle || info.Version != ContractVersion {
		return fmt.Errorf("the document's title is %.40q and its version %.40q", info.Title, info.Version)
	}
	return nil
}

// shared is work that many callers need at the same time and that runs once for all of them.
type shared struct {
	mu      sync.Mutex
	running *run
}

type run struct {
	done    chan struct{}
	err     error // set when the run is done
	waiting int
	cancel  context.CancelFunc
}

// do joins the run in progress, or starts one. The run is cancelled when the last context that waits for it ends. Only
// the callers that waited for a run get its error.
func (s *shared) do(ctx context.Context, work func(context.Context) error) error {
	s.mu.Lock()
	r := s.running
	if r == nil {
		detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r = &run{done: make(chan struct{}), cancel: cancel}
		s.running = r
		go func() {
			defer cancel()
			r.err = work(detached)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.leave(r)
			close(r.done)
		}()
	}
	r.waiting++
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.waiting--; r.waiting == 0 {
			s.leave(r)
			r.cancel()
		}
		return fmt.Errorf("client: %w before the contract was checked", ctx.Err())
	}
}

// leave removes r, so that the next call starts a new run.
func (s *shared) leave(r *run) {
	if s.running == r {
		s.running = nil
	}
}
