import { Link } from '../nav/link.tsx';
import { usePlace } from '../nav/place.ts';

export interface RunLinkProps {
  readonly id: string;
  readonly text?: string;
}

/** A link to the pane of a run, beside the present page. */
export function RunLink({ id, text = 'Show the run' }: RunLinkProps) {
  const { main } = usePlace();
  return (
    <Link class="run-link" to={{ main, pane: { shows: 'run', id } }}>
      {text}
    </Link>
  );
}
