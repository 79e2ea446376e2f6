import { schemaAt } from '@parley/protocol/schema/since.ts';
import { NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { asyncApiDocument } from '../../src/api/documents/openapi/asyncapi.ts';
import { closedMap } from './contract.ts';

interface AsyncApi {
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: { readonly $ref: string } }>>;
    readonly schemas: object;
  };
}

/** Checks frames to a socket of one version against the AsyncAPI document (contract.ts). */
export class FrameContract {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #messages: AsyncApi['components']['messages'];
  readonly #checks = new Map<string, ValidateFunction>();

  constructor(version: Version = NEWEST_VERSION) {
    const { components } = asyncApiDocument() as AsyncApi;
    addFormats.default(this.#ajv);
    const schemas = closedMap(schemaAt(version, components.schemas) as Readonly<Record<string, unknown>>);
    this.#ajv.addSchema({ components: { schemas } }, 'asyncapi');
    this.#messages = components.messages;
  }

  /**
   * Returns the problem of a frame, undefined if there is none. Replies are not checked, because
   * they do not say what they answer.
   */
  problemOf(frame: { readonly type: string; readonly event?: string }): string | undefined {
    if (frame.type === 'reply') return undefined;
    const name = (frame.event ?? frame.type).replaceAll('.', '_');
    const message = this.#messages[name];
    if (message === undefined) return `there is no message ${name}`;
    const check = this.#checks.get(name) ?? this.#ajv.compile({ $ref: `asyncapi${message.payload.$ref}` });
    this.#checks.set(name, check);
    return check(frame) ? undefined : `${name}: ${this.#ajv.errorsText(check.errors)}`;
  }
}
