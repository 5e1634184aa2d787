package mapped

import (
	"context"
	"sync"
)

// Until makes every access to data that comes after the end of ctx a *Fault in its reader's Guard, and so breaks off
// whoever reads them, in whatever loop that is. data must be all of what Open or File returned. stop ends that, before
// data are released, and tells whether ctx ended before: data are good for nothing then. Where the system cannot protect
// memory, readers go on until they ask their context.
func Until(ctx context.Context, data []byte) (stop func() (ended bool)) {
	revoked := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(revoked)
		revoke(data)
	})
	return sync.OnceValue(func() bool {
		if cancel() {
			return false
		}
		<-revoked
		return true
	})
}
