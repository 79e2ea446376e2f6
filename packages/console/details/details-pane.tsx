import { useConversation } from '@parley/client/react';
import { useRef } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { About } from './about.tsx';
import { Customers } from './customers.tsx';
import { Files } from './files.tsx';
import { HoldSection } from './hold-section.tsx';
import { Members } from './members.tsx';
import { OwnSettings } from './own-settings.tsx';
import { Pins } from './pins.tsx';
import { Readers } from './readers.tsx';
import { rightsOf } from './rights.ts';
import { Removed, Standing } from './standing.tsx';

export interface DetailsPaneProps {
  readonly conversationId: string;
}

/** The pane of a conversation, with everything but its messages. */
export function DetailsPane({ conversationId }: DetailsPaneProps) {
  const { conversation, status, end } = useConversation(conversationId);
  const { me, can } = useSignedIn();
  const couldOwn = useRef<boolean | null>(me.role?.type === 'admin' || null);
  if (status === 'ended') {
    const mayRestore = can('messaging:update') && couldOwn.current;
    return <Removed conversationId={conversationId} end={end} mayRestore={mayRestore} />;
  }
  if (conversation === null) return <p class="side-pane-empty">{texts.details.loading}</p>;
  const rights = rightsOf(me, conversation);
  couldOwn.current = rights.mayOwn;
  const shown = { conversation, rights };
  const isCase = conversation.audience === 'customer';
  return (
    <div class="details-pane">
      {isCase && <Customers {...shown} />}
      <About {...shown} />
      <Members {...shown} />
      {rights.own !== undefined && <OwnSettings own={rights.own} conversationId={conversationId} />}
      <Pins {...shown} />
      <Files conversationId={conversationId} />
      <Readers conversation={conversation} />
      <HoldSection {...shown} />
      <Standing {...shown} />
    </div>
  );
}
