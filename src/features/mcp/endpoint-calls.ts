import { codeOf, type ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { parseExact } from '@parley/protocol/json/exact-json.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import { compile } from '@parley/protocol/validation/validation.ts';
import type { TSchema } from 'typebox';
import type { Principal } from '../../api/access/principal.ts';
import {
  type EndpointArguments,
  type EndpointCaller,
  parametersOf,
  requestOf,
} from '../../core/endpoint-tools/endpoint-call.ts';
import type { EndpointFacts } from '../../core/endpoint-tools/endpoint-facts.ts';

/** A refusal of the API, as its answer has it. */
export class CallRefusal extends Error {
  readonly code: string;
  readonly param: string | null;

  constructor({ code, message, param }: Pick<ErrorObject, 'code' | 'message' | 'param'>) {
    super(message);
    this.name = 'CallRefusal';
    this.code = code;
    this.param = param;
  }

  static of(error: ApiError): CallRefusal {
    const { condition, message, param } = error;
    return new CallRefusal({ code: codeOf(condition), message, param });
  }
}

export interface Called {
  /** JSON, as the endpoint wrote it. */
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Calls endpoints as one caller, through every step of the pipeline: its rights, limits,
 * idempotency and audit are those of REST.
 */
export class EndpointCalls {
  readonly principal: Principal;
  readonly #caller: EndpointCaller;
  readonly #routes: () => readonly EndpointFacts[];
  readonly #trace: TraceContext | undefined;

  constructor(
    caller: EndpointCaller,
    routes: () => readonly EndpointFacts[],
    principal: Principal,
    trace: TraceContext | undefined,
  ) {
    this.#caller = caller;
    this.#routes = routes;
    this.principal = principal;
    this.#trace = trace;
  }

  /** Rejects with CallRefusal, or with the reason of the signal. */
  async call(facts: EndpointFacts, args: unknown, { signal, idempotencyKey }: CallOptions): Promise<Called> {
    const request = requestOf(facts, readArguments(facts, args));
    const { principal } = this;
    const from = { principal, idempotencyKey, runId: undefined, trace: this.#trace };
    const { status, text } = await this.#caller.call({ ...request, ...from }, signal);
    if (status >= 400) throw new CallRefusal((JSON.parse(text) as { error: ErrorObject }).error);
    return { text: text.trim(), value: parseExact(text) as Called['value'] };
  }

  /** Calls the endpoint of this name. Undefined if this build does not have it. */
  async callNamed(name: string, args: EndpointArguments, options: CallOptions): Promise<Called | undefined> {
    const facts = this.#routes().find((route) => route.name === name);
    return facts && this.call(facts, args, options);
  }
}

function readArguments(facts: EndpointFacts, args: unknown): EndpointArguments {
  try {
    return compile(parametersOf(facts) as TSchema)(args) as EndpointArguments;
  } catch (error) {
    throw error instanceof ApiError ? CallRefusal.of(error) : error;
  }
}
