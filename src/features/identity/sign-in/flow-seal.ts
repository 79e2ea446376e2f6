import { hash } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { FLOW_S } from './cookies.ts';

/** A sign-in that is under way, kept only by the browser. */
export interface Flow {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  /** The PKCE verifier. */
  readonly verifier: string;
  /** A path of this server. */
  readonly returnTo: string;
}

/**
 * Encrypts flows with a key that all nodes share, so that a browser can neither read nor forge
 * them.
 */
export class FlowSeal {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = hash('sha256', `sign-in flow ${secret}`, 'buffer');
  }

  seal(flow: Flow): Promise<string> {
    return new EncryptJWT({ ...flow })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(`${FLOW_S} s`)
      .encrypt(this.#key);
  }

  /** Returns undefined for a value that no node has sealed, or that is older than FLOW_S. */
  async open(sealed: string): Promise<Flow | undefined> {
    try {
      const { payload } = await jwtDecrypt<Flow>(sealed, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
      });
      return payload;
    } catch {
      return undefined;
    }
  }
}
