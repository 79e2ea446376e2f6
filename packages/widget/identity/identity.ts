import { type Client, connect } from '@parley/client';
import type { VisitorClaim, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import type { Host } from '../host/host.ts';
import type { Visitor } from './visitor-session.ts';
import { call, Refused } from './widget-calls.ts';

/** The visitor's identity, and the client that is connected as that person. */
export interface Identified {
  /** A new key for each identity: the shown content belongs to it alone. */
  readonly key: string;
  /**
   * `none` until the first message or upload of an unknown visitor; `returning` while the session
   * that this browser keeps is being read; `known` by the page, or by a confirmed address.
   */
  readonly kind: 'none' | 'returning' | 'visitor' | 'known';
  readonly client: Client | null;
}

export interface IdentityOptions {
  readonly widget: WidgetPublic;
  readonly visitor: Visitor;
  /** Null for the frame as a page of its own. */
  readonly host: Host | null;
  readonly onChange: (now: Identified) => void;
}

/**
 * Decides as whom the frame is connected. A change closes the client and drops the shown content
 * before it asks for the next credential. Results of an earlier identity have no effect.
 */
export class Identity {
  readonly #options: IdentityOptions;
  #turn = 0;
  #now: Identified = nothingOf(0);

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /** Changes to the visitor that the page names (true), or to none. */
  async change(isKnown: boolean): Promise<void> {
    const { visitor } = this.#options;
    const turn = this.#drop(visitor.isKept ? 'returning' : 'none');
    try {
      await this.#find(isKnown, turn);
    } finally {
      if (turn === this.#turn && this.#now.kind === 'returning') this.#show(nothingOf(turn));
    }
  }

  /** Connects as the person of the page, or as the visitor of this browser, if there is one. */
  async #find(isKnown: boolean, turn: number): Promise<void> {
    const { widget, host, visitor } = this.#options;
    if (isKnown && widget.identifies && host !== null) {
      const token = await host.token();
      if (turn !== this.#turn) return;
      if (token !== null) {
        await this.#claim(token);
        if (turn !== this.#turn) return;
        this.#connect('known', turn, token);
        return;
      }
    }
    if (!visitor.isKept || (await visitor.accessToken()) === null || turn !== this.#turn) return;
    if (this.#now.client === null) this.#connect('visitor', turn);
  }

  /** Returns a client to write with; a new visitor's if nothing is known. */
  async begin(): Promise<Client> {
    if (this.#now.client !== null) return this.#now.client;
    const turn = this.#turn;
    await this.#options.visitor.begin();
    if (turn !== this.#turn) throw new Error('The visitor has changed meanwhile.');
    return this.#now.client ?? this.#connect('visitor', turn);
  }

  /** Connects again after a mailed link has named the visitor, whose session is kept. */
  reopen(): void {
    this.#connect('visitor', this.#drop('returning'));
  }

  #drop(kind: 'none' | 'returning'): number {
    this.#now.client?.close();
    this.#turn += 1;
    this.#show(nothingOf(this.#turn, kind));
    return this.#turn;
  }

  #connect(kind: 'visitor' | 'known', turn: number, first?: string): Client {
    const { widget, host, visitor } = this.#options;
    this.#now.client?.close();
    let given = first;
    let isRefused = false;
    const getToken = async () => {
      const token =
        given ?? (kind === 'known' ? await host!.token() : await visitor.accessToken({ isRefused }));
      given = undefined;
      isRefused = false;
      if (token !== null && turn === this.#turn) return token;
      // The session has ended elsewhere, or the page has no token any more.
      if (turn === this.#turn) setTimeout(() => turn === this.#turn && void this.change(false), 0);
      throw new Error('There is no credential.');
    };
    const client = connect({ url: location.origin, account: widget.account_id, getToken, presence: false });
    client.on('error', ({ reason }) => {
      isRefused ||= reason === 'credential_rejected';
    });
    client.on('end', () => {
      // The session of a visitor has ended, by a claim or by the removal of the widget.
      if (turn === this.#turn) void this.change(false);
    });
    const isKnown = kind === 'known' || visitor.isConfirmed;
    this.#show({ key: `${kind} ${turn}`, kind: isKnown ? 'known' : 'visitor', client });
    return client;
  }

  /** Moves the anonymous messages to the person that the token names. */
  async #claim(token: string): Promise<void> {
    const { widget, visitor } = this.#options;
    const visitor_token = visitor.isKept ? await visitor.accessToken().catch(() => null) : null;
    if (visitor_token === null) return;
    const path = `/v1/widgets/${encodeURIComponent(widget.id)}/visitors/actions/claim`;
    const headers = { Authorization: `Bearer ${token}`, 'Service-Account': widget.account_id };
    try {
      await call<VisitorClaim>('POST', path, { body: { visitor_token }, headers });
    } catch (error) {
      // Claimed by another person, or no token of the provider: the session is not this person's.
      if (!(error instanceof Refused) || error.status >= 500) throw error;
    }
    visitor.drop();
  }

  #show(now: Identified): void {
    this.#now = now;
    this.#options.onChange(now);
  }
}

/** Returns an identity whose key stays when the visitor begins, as its unsent writing does. */
function nothingOf(turn: number, kind: 'none' | 'returning' = 'none'): Identified {
  return { key: `visitor ${turn}`, kind, client: null };
}
