package main

import "context"

func demo(ctx context.Context, s *service) error { return nil }
