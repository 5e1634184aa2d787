// Package tracing tells a collector of OpenTelemetry what the service does: spans of requests of devices, jobs, their processes and
// the store, by OTLP over HTTP. What a sender says of traces of its own is not asked: devices do not decide what is kept here.
package tracing

import (
	"context"
	"time"

	"github.com/backsight/backsight/service/store"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Bounds of spans: how many wait for the collector, beyond which they are dropped; how many go at once, how often and for how long;
// attributes of one, and bytes of an attribute.
const (
	maxWaiting, maxAtOnce      = 4096, 512
	sendEvery, sendTime        = 5 * time.Second, 10 * time.Second
	maxAttributes, maxText     = 16, 256
	firstRetry, longestRetries = time.Second, 30 * time.Second
)

// None is a tracer that does nothing.
func None() trace.Tracer { return noop.NewTracerProvider().Tracer("") }

// Start sends spans to the collector at a URL (http://HOST:4318/v1/traces) until stop is called, which sends what waits. Which traces are
// sent is said by OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables);
// without them all.
func Start(ctx context.Context, url, version, node string) (tracer trace.Tracer, stop func() error, err error) {
	to, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithTimeout(sendTime),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: sendTime, MaxElapsedTime: longestRetries}))
	if err != nil {
		return nil, nil, err
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeCountLimit, limits.AttributeValueLengthLimit = maxAttributes, maxText
	provider := sdk.NewTracerProvider(sdk.WithRawSpanLimits(limits), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "backsightd"),
		attribute.String("service.version", version), attribute.String("service.instance.id", node))),
		sdk.WithBatcher(to, sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxAtOnce), sdk.WithBatchTimeout(sendEvery), sdk.WithExportTimeout(sendTime)))
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
		defer cancel()
		return provider.Shutdown(ctx)
	}
	return provider.Tracer("backsightd"), stop, nil
}

// Capture is the attribute by which spans of a capture are found: the name of its report.
func Capture(name string) attribute.KeyValue { return attribute.String("backsight.capture", name) }

// End ends a span that an error, or nil, came of.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Store is a store whose appends are spans.
type Store struct {
	store.Store
	Tracer trace.Tracer
}

// Append implements store.Store.
func (s Store) Append(ctx context.Context, bodies []store.Body) ([]store.Ref, error) {
	var size int64
	for i := range bodies {
		size += bodies[i].Size
	}
	ctx, span := s.Tracer.Start(ctx, "store append", trace.WithAttributes(attribute.Int("backsight.bodies", len(bodies)), attribute.Int64("backsight.bytes", size)))
	refs, err := s.Store.Append(ctx, bodies)
	End(span, err)
	return refs, err
}
