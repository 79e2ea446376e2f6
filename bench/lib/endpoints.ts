import type autocannon from 'autocannon';
import { JSON_TYPE } from './autocannon-loop.ts';
import { HttpConnections, postRequest } from './http-connections.ts';
import { BODY } from './insert-script.ts';
import type { Product } from './product.ts';
import { UNIQUE } from './unique-number.ts';

/** Requests of each connection. */
type Requests = readonly (readonly autocannon.Request[])[];

/** An endpoint of the first Service-Version, and requests to it that succeed. */
export interface Endpoint {
  readonly name: string;
  /** Requests a second that two busy cores have room for. */
  readonly rate: number;
  /** The greatest p99, in times of a bare route's. */
  readonly atMost: number;
  /** Returns requests for a block in which each connection sends `count` at most. */
  readonly prepare: (count: number) => Promise<Requests>;
}

/** Opens the five endpoints of 1.0.harbor in the demo account, for so many connections. */
export async function openEndpoints(product: Product, connections: number): Promise<readonly Endpoint[]> {
  const { demo, headers } = product;
  const json = { ...headers, ...JSON_TYPE };
  const { ada } = demo.users;
  const make = async (body: object) =>
    (await create<{ id: string }>(product, '/v1/messaging/conversations', body)).id;
  const groups: string[] = [];
  const cases: string[] = [];
  for (let n = 0; n < connections; n++) {
    const participants = [{ type: 'user', actor_id: ada.id }];
    groups.push(await make({ type: 'group', title: `Group ${n}`, participants }));
    const customer = { type: 'customer', name: 'Cleo', email: `cleo-${n}@example.net` };
    cases.push(
      await make({
        type: 'group',
        audience: 'customer',
        title: `Case ${n}`,
        participants: [...participants, customer],
      }),
    );
  }
  // The page of notifications is full.
  for (let n = 0; n < PAGE; n++) {
    await create(product, messagesOf(groups[0]!), { body: BODY, client_message_id: `page-${n}` });
  }
  const post = (path: string, body: object): autocannon.Request => {
    return { method: 'POST', path, headers: json, body: JSON.stringify(body) };
  };
  const send = { body: BODY, client_message_id: `run-${UNIQUE}` };
  const page = {
    method: 'GET',
    path: `/v1/messaging/notifications?limit=${PAGE}`,
    headers: { ...headers, Authorization: `Bearer ${ada.access_token}` },
  } as const;
  return [
    {
      name: 'Send Message',
      rate: 500,
      atMost: 20,
      prepare: async () => groups.map((id) => [post(messagesOf(id), send)]),
    },
    {
      name: 'Set Legal Hold',
      rate: 100,
      atMost: 80,
      prepare: async () =>
        groups.map((id) =>
          ['held', 'released'].map((legal_hold) =>
            post(`/v1/messaging/conversations/${id}/actions/set-legal-hold`, { legal_hold }),
          ),
        ),
    },
    {
      name: 'Reject Reply Draft',
      rate: 100,
      atMost: 160,
      prepare: async (count) => {
        const drafts = await makeDrafts(product, cases, count);
        return drafts.map((ids) =>
          ids.map((id) => ({
            method: 'POST',
            path: `/v1/messaging/messages/${id}/actions/reject`,
            // Without a length the connection ends with the answer.
            headers: { ...headers, 'Content-Length': '0' },
          })),
        );
      },
    },
    {
      name: 'Create Agent',
      rate: 100,
      atMost: 80,
      prepare: async () => groups.map(() => [post('/v1/ai/agents', AGENT)]),
    },
    {
      name: 'List Notifications',
      rate: 500,
      atMost: 30,
      prepare: async () => groups.map(() => [page]),
    },
  ];
}

const PAGE = 20;
const AGENT = {
  name: 'Order desk',
  slug: `order-desk-${UNIQUE}`,
  category_code: 'operations',
  trigger_type: 'manual',
  config: { system_prompt: BODY, tier: 'balanced', tools: [{ tool: 'read_doc' }] },
};

function messagesOf(conversation: string): string {
  return `/v1/messaging/conversations/${conversation}/messages`;
}

async function create<T>({ demo, headers }: Product, path: string, body: object): Promise<T> {
  const response = await fetch(`${demo.base_url}${path}`, {
    method: 'POST',
    headers: { ...headers, ...JSON_TYPE },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<T>;
}

/** Returns the ids of `count` open drafts of each case. */
async function makeDrafts(
  { port, headers }: Product,
  cases: readonly string[],
  count: number,
): Promise<readonly (readonly string[])[]> {
  const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: WRITERS });
  const body = JSON.stringify({ body: BODY, mode: 'draft', channel: 'message' });
  const make = (id: string) =>
    new Promise<string>((resolve, reject) => {
      connections.send(postRequest(messagesOf(id), headers, body), (status, answer) => {
        if (status === 201) resolve((JSON.parse(answer.toString()) as { id: string }).id);
        else reject(new Error(`a draft was answered ${status} ${answer}`));
      });
    });
  try {
    return await Promise.all(cases.map((id) => Promise.all(Array.from({ length: count }, () => make(id)))));
  } finally {
    connections.close();
  }
}

const WRITERS = 16;
