import type { SentMessage } from '@parley/client';
import { useConversation } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useState } from 'preact/hooks';
import { DraftCards } from '../drafts/draft-cards.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { MessageEdit } from '../writing/message-edit.tsx';
import { type OwnStanding, useStanding } from '../writing/use-standing.ts';
import { type Refusal, refusalOf } from '../writing/writable.ts';
import { ComposerForm, type ComposerProps } from './composer-form.tsx';
import { ScheduledList } from './scheduled-list.tsx';

export type { ComposerProps };

/** The field for new messages, below the messages that wait to be sent. */
export function Composer(props: ComposerProps) {
  const { conversationId, replyTo } = props;
  const standing = useStanding(conversationId);
  const [edited, setEdited] = useState<SentMessage | null>(null);
  const [isBack, setBack] = useState(false);
  const refusal = refusalOf(standing);
  return (
    <div class="composer" data-focus=".message-field, button">
      {replyTo === undefined && (
        <div class="composer-waiting">
          <DraftCards conversationId={conversationId} />
          <ScheduledList conversationId={conversationId} />
        </div>
      )}
      {refusal !== null ? (
        <Refused standing={standing} refusal={refusal} />
      ) : edited !== null && edited.conversation_id === conversationId ? (
        <EditLast
          message={edited}
          onEnd={() => {
            setEdited(null);
            setBack(true);
          }}
        />
      ) : (
        <ComposerForm key={replyTo ?? conversationId} {...props} takesFocus={isBack} onEditLast={setEdited} />
      )}
    </div>
  );
}

interface EditLastProps {
  readonly message: SentMessage;
  readonly onEnd: () => void;
}

/** Takes the place of the form while the last own message is changed. */
function EditLast({ message, onEnd }: EditLastProps) {
  const { conversation_id: conversationId = '', id } = message;
  const { live } = useConversation(conversationId);
  return (
    <section class="composer-edit" aria-label={texts.composer.editLast}>
      <MessageEdit
        conversationId={conversationId}
        message={message}
        onEnd={onEnd}
        onSave={(change) => live?.edit(id, change)}
      />
    </section>
  );
}

interface RefusedProps {
  readonly standing: OwnStanding;
  readonly refusal: Refusal;
}

/** Says why nothing can be written here. */
function Refused({ standing, refusal: { sentence, isArchived } }: RefusedProps) {
  const { client } = useSignedIn();
  const { isBusy, problem, run } = useAction();
  const { conversation, runsConversation } = standing;
  const open = () => run(() => client.conversations.unarchive(conversation!.id));
  return (
    <div class="composer-refused" role="note">
      <p>{sentence}</p>
      {isArchived && runsConversation && (
        <Button disabled={isBusy} onClick={open}>
          {texts.composer.openAgain}
        </Button>
      )}
      <Problem text={problem} />
    </div>
  );
}
