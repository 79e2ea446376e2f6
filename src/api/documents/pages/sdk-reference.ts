/**
 * The public names of the SDK, as `npm run build` reads them from its declarations
 * (bin/build/reference/) and as `/docs/sdk` shows them.
 */
export interface SdkReference {
  readonly areas: readonly SdkArea[];
}

export interface SdkArea {
  readonly title: string;
  readonly about: string;
  readonly names: readonly SdkName[];
}

export interface SdkName {
  /** Unique in the reference. */
  readonly anchor: string;
  readonly name: string;
  readonly kind: 'class' | 'interface' | 'type' | 'function' | 'constant';
  /** The modules that export it; empty for a type that is not exported but named by signatures. */
  readonly entries: readonly string[];
  /** The OpenAPI name of the resource or body that it is the type of; null for other names. */
  readonly resource: string | null;
  /** Whether it is printed from a schema of the protocol, whose fields need no description. */
  readonly isPrinted: boolean;
  readonly doc: string;
  /** Several for a function with overloads. */
  readonly signatures: readonly Signature[];
  readonly members: readonly SdkMember[];
}

export interface SdkMember {
  /** Below its name's anchor: `Client.send`. */
  readonly anchor: string;
  readonly name: string;
  /** The exported class or interface that declares it, if not this one. */
  readonly from: string | null;
  readonly doc: string;
  readonly signatures: readonly Signature[];
}

/** Pieces of TypeScript code; a piece with an address is the name of a type that stands there. */
export type Signature = readonly (string | readonly [name: string, address: string])[];
