/** The part of an XMLHttpRequest that the SDK uses. */
export interface XhrLike {
  readonly status: number;
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: Blob): void;
  abort(): void;
}

export type XhrConstructor = new () => XhrLike;
