package input

import (
	"cmp"
	"context"
	"errors"

	"github.com/backsight/backsight/internal/mapped"
)

// opening is what is read while a capture is opened: the mapped bytes that were given out under its context.
type opening struct{ given []*Capture }

type openingKey struct{}

// guarded opens a stream, by a function that reads mapped bytes. They cannot be read any more once ctx has ended, so
// that all readers break off; those that compute for long on bytes of their own ask the context that they are given.
// The error is that of ctx then; where a file is cut short meanwhile, the error names that file, else name. files stay open
// meanwhile.
func guarded(ctx context.Context, name string, files *Files, open func(ctx context.Context) (Stream, error)) (s Stream, err error) {
	release, err := files.hold(name)
	if err != nil {
		return nil, err
	}
	defer release()
	o := new(opening)
	fault := mapped.Guard(func() { s, err = open(context.WithValue(ctx, openingKey{}, o)) })
	if fault != nil {
		err = unreadable(cmp.Or(o.blamed(fault), name), fault)
	}
	if o.ended() {
		if s != nil {
			err = s.Close()
		}
		if !errors.Is(err, ctx.Err()) {
			err = &Error{Path: name, Offset: -1, Reason: "not read", Err: ctx.Err()}
		}
	}
	if err == nil {
		return s, nil
	}
	for _, c := range o.given { // a reader that broke off has left them open
		err = errors.Join(err, c.Close())
	}
	return nil, err
}

func unreadable(name string, fault error) error {
	return &Error{Path: name, Offset: -1, Reason: "cannot be read, or a binary that it names", Err: fault}
}

// give registers a capture whose mapped bytes are read while ctx's is opened.
func (c *Capture) give(ctx context.Context) {
	if o, ok := ctx.Value(openingKey{}).(*opening); ok && c.mapped != nil && c.until == nil {
		c.until = mapped.Until(ctx, c.mapped)
		o.given = append(o.given, c)
	}
}

// ended lets the bytes be read from here on, unless the context has ended before.
func (o *opening) ended() (ended bool) {
	for _, c := range o.given {
		ended = c.until() || ended
	}
	return ended
}

// blamed is the name of the file that a fault was in, "" for none of these.
func (o *opening) blamed(err error) string {
	var fault *mapped.Fault
	errors.As(err, &fault)
	for _, c := range o.given {
		if _, in := fault.In(c.mapped); in {
			return c.Name
		}
	}
	return ""
}
