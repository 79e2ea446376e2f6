import { networkInterfaces } from 'node:os';

/** Returns the addresses of this machine's interfaces, except loopback and link-local ones. */
export function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^(127\.|fe80:|::1$)/.test(address));
}

/**
 * Returns addresses of this machine at which a canary can listen: several of loopback, and its
 * interfaces' addresses.
 */
export function ownAddresses(): string[] {
  return ['127.0.0.1', '127.0.1.1', '127.127.127.127', '::1', ...interfaceAddresses()];
}
