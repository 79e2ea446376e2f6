/** Whether a server that listens on this address can be reached from its own machine only. */
export function isLoopbackAddress(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}

/**
 * Whether a Host header names this machine. A page of another name that was pointed at it (DNS
 * rebinding) sends that name.
 */
export function isLoopbackHost(header: string | undefined): boolean {
  return header !== undefined && LOOPBACK_HOST.test(header);
}

export function isLoopbackOrigin(origin: string): boolean {
  return isLoopbackHost(/^https?:\/\/(.*)$/.exec(origin)?.[1]);
}

const NAMES = String.raw`(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3})`;
const LOOPBACK = new RegExp(`^${NAMES}$`, 'i');
const LOOPBACK_HOST = new RegExp(String.raw`^(?:${NAMES}|\[::1\])(?::\d{1,5})?$`, 'i');
