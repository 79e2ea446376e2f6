import type { WorkerAddress } from '@parley/client';

const ADDRESS = '/console/push-worker.js';

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): { toString(): string } };
}

let address: WorkerAddress | undefined;

/**
 * Returns the address of the service worker that shows pushes. The policy of the page lets no other
 * text become the address of a script.
 */
export function pushWorker(): WorkerAddress {
  const { trustedTypes }: { readonly trustedTypes?: TrustedTypes } = globalThis as object;
  address ??=
    trustedTypes?.createPolicy('parley', { createScriptURL: () => ADDRESS }).createScriptURL(ADDRESS) ??
    ADDRESS;
  return address;
}
