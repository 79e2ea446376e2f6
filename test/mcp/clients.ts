import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Teardown } from '../support/teardown.ts';

export interface Place {
  readonly url: string;
  readonly token: string;
  readonly capabilities?: ClientOptions['capabilities'];
  readonly fetch?: typeof fetch;
}

/** The calls that the tests make, which both generations of the SDK have. */
export interface AnyClient {
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Called>;
  listResources(params?: { cursor?: string }): Promise<{
    readonly resources: readonly { readonly uri: string; readonly title?: string | undefined }[];
    readonly nextCursor?: string | undefined;
  }>;
  readResource(params: { uri: string }): Promise<{ readonly contents: readonly Content[] }>;
}

interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: { readonly type: 'object' };
  readonly outputSchema?: { readonly [name: string]: unknown } | undefined;
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

export interface Called {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

type Content = { readonly uri: string; readonly mimeType?: string | undefined } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** The current SDK with the newest revision and with those of 2025, and the SDK of before. */
export const CLIENTS: Readonly<Record<string, (t: Teardown, place: Place) => Promise<AnyClient>>> = {
  'SDK 2 with the newest revision': (t, place) => connect(t, place, 'auto'),
  'SDK 2 with the revision of 2025': (t, place) => connect(t, place, 'legacy'),
  async 'SDK 1'(t, { url, token, ...place }) {
    const client = new EarlierClient({ name: 'test', version: '1' });
    const transport = new EarlierTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
      ...(place.fetch !== undefined && { fetch: place.fetch }),
    });
    await client.connect(transport as unknown as Parameters<EarlierClient['connect']>[0]);
    t.teardown(() => client.close());
    return client as unknown as AnyClient;
  },
};

export async function connect(
  t: Teardown,
  { url, token, capabilities = {}, ...place }: Place,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    ...(place.fetch !== undefined && { fetch: place.fetch }),
  });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

/** Returns `param: code` of a refused call, or undefined. */
export function refusalIn({ isError, _meta }: Called): string | undefined {
  if (isError !== true) return undefined;
  const refusal = _meta?.['parley/error'] as { code: string; param: string | null };
  return `${refusal.code} ${refusal.param}`;
}

/** A request without an SDK, of the revision of 2025, which needs no handshake here. */
export async function post(
  url: string,
  message: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal = AbortSignal.timeout(60_000),
) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    signal,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** A request of the newest revision. */
export function modern(
  url: string,
  token: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  capabilities: object = {},
  signal?: AbortSignal,
) {
  const { name, uri, taskId } = params as { name?: string; uri?: string; taskId?: string };
  const target = name ?? uri ?? taskId;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    ...(params._meta as object | undefined),
  };
  return post(
    url,
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    {
      Authorization: `Bearer ${token}`,
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(target !== undefined && { 'Mcp-Name': target }),
    },
    signal,
  );
}
