import { useConversation } from '@parley/client/react';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { texts } from '../texts/texts.ts';
import { Section } from './section.tsx';

export interface OwnSettingsProps {
  readonly own: Participant;
  readonly conversationId: string;
}

/** The person's choice of notifications about a conversation. */
export function OwnSettings({ own, conversationId }: OwnSettingsProps) {
  const { live } = useConversation(conversationId);
  const { isBusy, problem, run } = useAction();
  const isMuted = own.notifications === 'muted';
  const until = isMuted ? own.muted_until : null;
  const choose = (value: string) =>
    run(() => {
      if (value === 'all') return live!.unmute();
      const hours = Number(value);
      return live!.mute(hours > 0 ? new Date(Date.now() + hours * HOUR_MS).toISOString() : null);
    });
  return (
    <Section title={texts.details.notifications}>
      <select
        aria-label={texts.details.notificationsHere}
        value={isMuted ? (until ? 'until' : 'mentions') : 'all'}
        disabled={isBusy}
        onChange={(event) => void choose(event.currentTarget.value)}
      >
        <option value="all">{texts.details.allMessages}</option>
        {until && (
          <option value="until" disabled>
            {texts.details.mentionsUntil(fullTimeOf(until))}
          </option>
        )}
        <option value="1">{texts.details.mentionsHour}</option>
        <option value="24">{texts.details.mentionsDay}</option>
        <option value="168">{texts.details.mentionsWeek}</option>
        <option value="mentions">{texts.details.mentions}</option>
      </select>
      <Problem text={problem} />
    </Section>
  );
}

const HOUR_MS = 3_600_000;
