# docker build -t backsight . && docker run --rm -v "$PWD:/crash" backsight bt --sysroot /crash/root /crash/core
# --debuginfod needs curl, which is not in the image.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /backsight ./cmd/backsight

FROM scratch
COPY --from=build /backsight /backsight
COPY LICENSE /LICENSE
WORKDIR /work
ENTRYPOINT ["/backsight"]
