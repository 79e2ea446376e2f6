import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { texts } from '../texts/texts.ts';
import { acceptInvitation, readInvitation } from './invitation.ts';
import type { Session } from './session.ts';

export interface InvitedProps {
  readonly secret: string;
  readonly onSession: (session: Session) => void;
  /** Called when the person signs in by another way. */
  readonly onOther: () => void;
}

/**
 * Asks before an invitation is used: it works once, and a program that opens links must not use it,
 * nor a page of another site sign a visitor in.
 */
export function Invited({ secret, onSession, onOther }: InvitedProps) {
  const { isBusy, problem, run } = useAction();
  const { value: facts } = useResource(secret, () => readInvitation(secret));
  return (
    <main class="sign-in">
      <h1>{facts === null ? texts.session.invited : texts.session.invitedTo(facts.account_name)}</h1>
      {problem === '' ? (
        <>
          {facts !== null && (
            <p>
              {facts.invited_by === null
                ? texts.session.invitedAs(facts.name, facts.email)
                : texts.session.invitedBy(facts.invited_by, facts.name, facts.email)}
            </p>
          )}
          <p>{texts.session.invitationWorks}</p>
        </>
      ) : (
        <Problem text={problem} />
      )}
      <div class="sign-in-choices">
        {problem === '' && (
          <Button
            look="primary"
            disabled={isBusy}
            autoFocus
            onClick={() => run(async () => onSession(await acceptInvitation(secret)))}
          >
            {texts.session.accept}
          </Button>
        )}
        <Button disabled={isBusy} onClick={onOther}>
          {problem === '' ? texts.session.otherWay : texts.session.continue}
        </Button>
      </div>
    </main>
  );
}
