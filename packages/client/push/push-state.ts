/**
 * Whether this browser gets the caller's notifications: `denied` where the person has refused them
 * to the page, `unsupported` where there is no web push, as in a page without TLS.
 */
export type PushState = 'on' | 'off' | 'denied' | 'unsupported';

/** The address of a service worker; a TrustedScriptURL where the page demands trusted types. */
export type WorkerAddress = string | URL | { toString(): string };
