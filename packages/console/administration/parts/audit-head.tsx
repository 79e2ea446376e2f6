import type { AuditHead as Head } from '@parley/protocol/resources/audit-event.ts';
import { Facts } from '@parley/ui/data/facts.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useState } from 'preact/hooks';
import { texts } from '../../texts/texts.ts';
import { CopyLine } from '../notice.tsx';
import { useAdministration } from '../use-administration.ts';
import { contradiction, type Verdict, verdictOn } from './audit-proof.ts';

interface Proof {
  readonly head: Head;
  readonly verdict: Verdict;
  /** The contradiction to the head that this browser has kept, if any. */
  readonly against: string | undefined;
  readonly before: Pick<Head, 'number' | 'hash'> | undefined;
}

/** Verifies the signed end of the audit, and keeps it: a later end must not contradict it. */
export function AuditHead() {
  const { api, offered, call } = useAdministration();
  const [proof, setProof] = useState<Proof>();
  const { problem, run } = useAction();
  const operation = offered('get_audit_head');
  if (operation === undefined) return null;
  const verify = async () => {
    const head = (await call(operation)) as Head;
    const before = keptHead(head.account_id);
    const verdict = await verdictOn(head);
    const against = before && contradiction(head, before);
    if (verdict === 'valid' && against === undefined) keep(head);
    setProof({ head, verdict, against, before });
  };
  return (
    <section class="audit-head" aria-label={texts.administration.verification}>
      <p>
        <Button onClick={() => run(verify)}>{texts.administration.verify}</Button>
      </p>
      <Problem text={problem} />
      {proof && (
        <div role="status">
          <p class={proof.verdict === 'invalid' || proof.against ? 'audit-bad' : 'audit-good'}>
            {proof.against ?? texts.administration.verdicts[proof.verdict]}
          </p>
          <p>
            {proof.before === undefined
              ? texts.administration.headKept
              : texts.administration.headBefore(proof.before.number)}
          </p>
          <Facts schema={operation.answer} value={{ ...proof.head }} resolve={api.resolve} />
          <p>
            <a
              class="button"
              download={`audit-head-${proof.head.number}.json`}
              href={`data:application/json,${encodeURIComponent(JSON.stringify(proof.head))}`}
            >
              {texts.administration.downloadHead}
            </a>
          </p>
          <p>{texts.administration.linksChecked}</p>
          <CopyLine
            label={texts.administration.command}
            text={`npm run -s admin -- audit export --account ${proof.head.account_id} > audit.jsonl && npm run -s admin -- audit verify --file audit.jsonl --head audit-head-${proof.head.number}.json`}
          />
        </div>
      )}
    </section>
  );
}

const keyOf = (account: string) => `parley-audit-head ${account}`;

function keptHead(account: string): Pick<Head, 'number' | 'hash'> | undefined {
  try {
    return JSON.parse(localStorage.getItem(keyOf(account)) ?? '') as Head;
  } catch {
    return undefined;
  }
}

function keep({ account_id, number, hash }: Head): void {
  localStorage.setItem(keyOf(account_id), JSON.stringify({ number, hash }));
}
