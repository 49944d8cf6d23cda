package books

import (
	"context"
)

// bookFeed reads streams of records, page by page, while another goroutine checks what was read. Only the goroutine of
// run uses the transaction, because a transaction must be used by one goroutine ([driver.Store]). Each stream is one
// page ahead: the next page is read while the one before is checked.
//
// Reading waits for the database and checking uses the processor, so the two together take little longer than the
// slower one.
type bookFeed struct {
	streams []bookSource
	// wanted holds the numbers of the streams that have room for a page.
	wanted chan int
}

// bookSource reads one stream. end closes it, and is nil after that.
type bookSource struct {
	read func(ctx context.Context) (more bool, err error)
	end  func()
}

// bookStream is one stream of a bookFeed. T is a page.
type bookStream[T any] struct {
	// pages holds the page that is read ahead; it has room for one.
	pages  chan T
	place  int // the stream's index in the feed
	wanted chan<- int
}

// feedStream adds a stream to a feed, before the feed runs. read returns the next page, and reports whether there are
// more. A feed takes at most eight streams: the channel of a further one would block here.
func feedStream[T any](f *bookFeed, read func(ctx context.Context) (T, bool, error)) *bookStream[T] {
	const most = 8 // streams
	if f.wanted == nil {
		f.wanted = make(chan int, most)
	}
	s := &bookStream[T]{pages: make(chan T, 1), place: len(f.streams), wanted: f.wanted}
	f.streams = append(f.streams, bookSource{
		read: func(ctx context.Context) (bool, error) {
			page, more, err := read(ctx)
			if err != nil {
				return false, err
			}
			// This does not block: a stream is read only when its channel has room.
			s.pages <- page
			return more, nil
		},
		end: func() { close(s.pages) },
	})
	// The first page is wanted at once.
	f.wanted <- s.place
	return s
}

// take returns the next page, or false at the end. It asks for the page after it at once.
func (s *bookStream[T]) take() (T, bool) {
	page, ok := <-s.pages
	if ok {
		s.wanted <- s.place
	}
	return page, ok
}

// run reads all streams to their ends while check takes their pages in a goroutine of its own. It returns when both are
// done. check must take every stream to its end. If a read fails, all streams end, so that check returns, and run
// returns the error. A panic of check goes on to the caller of run.
func (f *bookFeed) run(ctx context.Context, check func()) error {
	checked := make(chan any, 1)
	go func() {
		var panicked any
		// The panic is recovered first, and then sent.
		defer func() { checked <- panicked }()
		defer func() { panicked = recover() }()
		check()
	}()
	var err error
	open := len(f.streams)
	for open > 0 && err == nil {
		select {
		case place := <-f.wanted:
			source := &f.streams[place]
			if source.end == nil {
				continue // The stream has ended, and its last page was taken.
			}
			var more bool
			if more, err = source.read(ctx); !more {
				source.end()
				source.end = nil
				open--
			}
		case panicked := <-checked:
			// check takes every stream to its end, so it stops early only by a panic.
			if panicked != nil {
				panic(panicked)
			}
			return nil
		}
	}
	// After a failed read, the streams that are still open end here.
	for i := range f.streams {
		if f.streams[i].end != nil {
			f.streams[i].end()
		}
	}
	if panicked := <-checked; panicked != nil {
		panic(panicked)
	}
	return err
}
