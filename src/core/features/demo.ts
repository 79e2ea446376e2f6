import type { Tx } from '../../platform/db/connection/handle.ts';
import type { MailboxRow } from '../resources/mailbox.ts';

declare module '../../platform/hooks.ts' {
  /** Additions to the demo account (app/demo.ts), which without them has ids that name nothing. */
  interface HookTable {
    demoAgent(tx: Tx, agent: DemoAgent): Promise<{ readonly id: string; readonly actorId: string }>;
    /** Called after a run that has ended was written. */
    demoRunEnded(tx: Tx, runId: string): Promise<void>;
    /** Adds an inbox; rejects if its address is taken. */
    demoInbox(
      tx: Tx,
      inbox: Pick<MailboxRow, 'account_id' | 'created_by' | 'name' | 'address'>,
    ): Promise<{ readonly id: string }>;
    /** Writes the mail of a message. A sent one is complete, so none leaves this server. */
    demoMail(tx: Tx, mail: DemoMail): Promise<void>;
    /** Returns the identity provider of customers with this issuer, created if need be. */
    demoIssuer(tx: Tx, issuer: DemoIssuer): Promise<{ readonly id: string; readonly secret: string | null }>;
    /** Returns a widget that pages of the site embed: the widget with this id, if it exists. */
    demoWidget(tx: Tx, widget: DemoWidget, id: string | undefined): Promise<{ readonly id: string }>;
  }
}

export interface DemoAgent {
  readonly accountId: string;
  readonly roleId: string;
  readonly name: string;
  readonly slug: string;
}

/** Tokens name customers by their `external_id`, and are signed by HS256. */
interface DemoIssuer {
  readonly account_id: string;
  readonly created_by: string;
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  /** The secret of a new issuer. */
  readonly secret: string;
}

interface DemoWidget {
  readonly account_id: string;
  readonly created_by: string;
  readonly name: string;
  readonly identity_provider_id: string | null;
  readonly site: string;
}

interface DemoMail {
  readonly id: string;
  readonly message: {
    readonly id: string;
    readonly account_id: string;
    readonly conversation_id: string;
    readonly author_id: string | null;
  };
  readonly inbox: { readonly id: string; readonly address: string };
  readonly customer: { readonly name: string; readonly email: string };
  /** The subject of the case. */
  readonly subject: string;
  readonly text: string;
  /** Null for our answer, set for a received mail. */
  readonly html: string | null;
  readonly minutesAgo: number;
}
