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
  /** What it is imported from; empty for a type that is not exported and that signatures name. */
  readonly entries: readonly string[];
  /** The name in OpenAPI of the resource or body that it is the type of; null for other names. */
  readonly resource: string | null;
  /** Whether it is printed from a schema of the protocol, whose fields need no description. */
  readonly isPrinted: boolean;
  readonly doc: string;
  /** Several for a function with overloads. */
  readonly signatures: readonly Signature[];
  readonly members: readonly SdkMember[];
}

export interface SdkMember {
  /** Below that of its name: `Client.send`. */
  readonly anchor: string;
  readonly name: string;
  /** The exported class or interface that declares it, if that is another one. */
  readonly from: string | null;
  readonly doc: string;
  readonly signatures: readonly Signature[];
}

/** Code in TypeScript, in pieces; one with an address is the name of a type that stands there. */
export type Signature = readonly (string | readonly [name: string, address: string])[];
