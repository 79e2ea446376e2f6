import type { ConversationEnd } from '@parley/client';
import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { Archive, ArchiveRestore, EyeOff, LogOut, RotateCcw, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { go } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import type { Rights } from './rights.ts';
import { Section } from './section.tsx';

export interface StandingProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** The actions on a conversation as a whole: archiving, hiding, leaving and deleting. */
export function Standing({ conversation: { id, status, legal_hold }, rights }: StandingProps) {
  const { conversations } = useSignedIn().client;
  const { live } = useConversation(id);
  const [asked, setAsked] = useState<'leave' | 'delete' | null>(null);
  const { isBusy, problem, run } = useAction();
  const isArchived = status === 'archived';
  const home = () => go({ main: { at: 'home' } });
  return (
    <Section title={texts.details.conversation}>
      <div class="standing">
        {rights.mayArchive && (
          <Button
            icon={isArchived ? ArchiveRestore : Archive}
            disabled={isBusy}
            onClick={() => run(() => (isArchived ? conversations.unarchive(id) : conversations.archive(id)))}
          >
            {isArchived ? texts.details.openAgain : texts.details.archive}
          </Button>
        )}
        {rights.own !== undefined && (
          <Button
            icon={EyeOff}
            disabled={isBusy}
            onClick={async () => {
              if (await run(() => conversations.hide(id))) home();
            }}
          >
            {texts.details.hide}
          </Button>
        )}
        {rights.mayLeave && (
          <Button icon={LogOut} onClick={() => setAsked('leave')}>
            {texts.details.leave}
          </Button>
        )}
        {rights.mayOwn && legal_hold !== 'held' && (
          <Button icon={Trash2} look="danger" onClick={() => setAsked('delete')}>
            {texts.details.delete}
          </Button>
        )}
      </div>
      <Problem text={problem} />
      {asked === 'leave' && (
        <Confirm
          title={texts.details.leaveQuestion}
          text={texts.details.leaveMeans}
          action={texts.details.leave}
          isDanger
          onConfirm={async () => {
            await live!.leave();
            home();
          }}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === 'delete' && (
        <Confirm
          title={texts.details.deleteQuestion}
          text={texts.details.deleteMeans}
          action={texts.details.delete}
          isDanger
          onConfirm={() => conversations.delete(id)}
          onClose={() => setAsked(null)}
        />
      )}
    </Section>
  );
}

export interface RemovedProps {
  readonly conversationId: string;
  readonly end: ConversationEnd | null;
  /**
   * Whether the person may bring it back if it was deleted; null where that is unknown, since the
   * page has not read it before.
   */
  readonly mayRestore: boolean | null;
}

/** Says why a conversation cannot be read any more, and brings a deleted one back. */
export function Removed({ conversationId, end, mayRestore }: RemovedProps) {
  const { client } = useSignedIn();
  const { isBusy, problem, run } = useAction();
  const isDeleted = end === 'revoked' ? mayRestore === true : end?.code === 'resource_gone';
  const restore = async () => {
    if (!(await run(() => client.conversations.restore(conversationId)))) return;
    go({ main: { at: 'home' } }, { replace: true });
    // By then the page has dropped the ended conversation, which is opened again.
    await new Promise((resolve) => setTimeout(resolve, 100));
    go({ main: { at: 'conversation', id: conversationId }, pane: { shows: 'details' } });
  };
  return (
    <div class="side-pane-empty">
      <p>{isDeleted ? texts.details.wasDeleted : texts.details.notReadable}</p>
      {isDeleted && mayRestore === null && <p>{texts.details.ownersRestore}</p>}
      {isDeleted && mayRestore !== false && (
        <Button icon={RotateCcw} disabled={isBusy} onClick={restore}>
          {texts.details.restore}
        </Button>
      )}
      <Problem text={problem} />
    </div>
  );
}
