package main

import (
	"context"
	"io"
	"net/http"
)

func (s *service) pages(ctx context.Context, stdout io.Writer) (http.Handler, error) {
	return http.NotFoundHandler(), nil
}
