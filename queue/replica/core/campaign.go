package core

import (
	"errors"
	"fmt"
	"time"
)

// Errors of commands.
var (
	// ErrCanceled ends a command that was withdrawn.
	ErrCanceled = errors.New("command was withdrawn")
	// ErrBusy refuses a command while another one is under way.
	ErrBusy = errors.New("another command is under way")
	// ErrNotSource refuses a Switch at a host that is not the source.
	ErrNotSource = errors.New("this host is not the source")
	// ErrOvertaken ends a TakeOver when another host has become the source.
	ErrOvertaken = errors.New("another host has become the source")
	// ErrTarget ends a Switch whose target cannot take over, or has not.
	ErrTarget = errors.New("the target of the switch cannot take over")
	// ErrClosed ends commands of a host that closes.
	ErrClosed = errors.New("the host is closing")
)

// campaign is the way to become the source:
//
//	gathering    wait until enough hosts can be reached that may promise
//	asking       ask the others for an epoch
//	promising    promise it oneself, and flush that
//	backfilling  take from the best what this host lacks, set aside what it
//	             has too much; then open the epoch
//
// A host promises itself last, so that a claim that is refused leaves no trace: had
// it promised an epoch that it does not get, a living source could not copy to it.
// Whatever goes wrong leads back to gathering, with a new epoch later.
type campaign struct {
	command uint64 // 0: of this host's own accord
	elected bool   // the command is no person's
	force   bool
	handed  bool // the old source has handed over, or this one takes over again

	stage   campaignStage
	began   time.Time
	idle    bool  // it is not for this host to begin
	tried   Epoch // that earlier attempts, or this one, asked for
	epoch   Epoch
	birth   bool
	lossy   bool
	askedAt time.Time
	asked   map[HostID]uint64 // the connection on which a host was asked
	answers map[HostID]*Message

	donor  HostID
	target Mark
}

type campaignStage uint8

const (
	gathering campaignStage = iota
	asking
	promising
	backfilling
)

// wanted reports whether somebody wants the campaign, though a source may live.
func (c *campaign) wanted() bool { return c.handed || c.command != 0 && !c.elected }

// outranks reports whether this host goes on asking for an epoch itself, and does not
// promise the one that m asks for.
func (c *campaign) outranks(m *Message) bool {
	switch {
	case c.stage < asking:
		return false
	case c.wanted() != m.Command:
		return c.wanted()
	}
	return m.Epoch.Less(c.epoch)
}

func (r *Replica) takeOver(ev TakeOver) {
	switch {
	case r.source != nil && r.source.start != 0 && r.handing == nil:
		r.emit(Result{ID: ev.ID})
		return
	case r.handing != nil, r.campaign != nil && r.campaign.command != 0:
		r.emit(Result{ev.ID, ErrBusy})
		return
	case r.campaign == nil:
		r.campaign = &campaign{began: r.now}
	}
	c := r.campaign
	c.command, c.elected, c.force, c.began = ev.ID, ev.Elected, ev.Force, r.now
	if c.stage == gathering {
		r.retryAt = r.now
	}
}

func (r *Replica) cancel(ev Cancel) {
	if c := r.campaign; c != nil && c.command == ev.ID {
		r.endCampaign(ErrCanceled)
	}
}

// endCampaign drops the campaign and answers its command.
func (r *Replica) endCampaign(err error) {
	c := r.campaign
	r.campaign = nil
	if c != nil && c.command != 0 {
		r.emit(Result{c.command, err})
	}
	if r.follow != nil && r.follow.donor {
		r.follow = nil
	}
}

// retryCampaign begins anew after a while, with another epoch; a campaign that
// a command wants goes on for ever.
func (r *Replica) retryCampaign() {
	c := r.campaign
	if r.follow != nil && r.follow.donor {
		r.follow = nil
	}
	r.campaign = &campaign{command: c.command, elected: c.elected, force: c.force, began: c.began, tried: c.tried}
	r.delay()
}

// settleCampaign takes a campaign as far as it can go.
func (r *Replica) settleCampaign() {
	if r.campaign == nil && r.source == nil && r.follow == nil && r.handing == nil {
		r.campaign = &campaign{began: r.now}
	}
	c := r.campaign
	if c == nil {
		return
	}
	if c.stage == gathering {
		r.gather()
	}
	if c.handed && c.stage <= promising && !r.now.Before(c.began.Add(r.cfg.HeartbeatTimeout)) {
		r.endCampaign(ErrTarget) // the old source takes over again
		return
	}
	if c.stage == asking && r.keeps() {
		r.ask()
	}
	if c.stage == promising && r.keeps() {
		c.answers[r.cfg.Self] = r.answerMessage(c.epoch)
		r.choose()
	}
	if c.stage == backfilling {
		r.backfill()
	}
}

// mayPromise reports whether this host's own promise counts.
func (r *Replica) mayPromise() bool { return r.hard.Trust == Whole }

// gather begins to ask when enough hosts are there. A host that nobody told to
// take over does so only if it was the source of the best history that can be
// seen, or if there is no history and it is the configured master.
func (r *Replica) gather() {
	c := r.campaign
	reachable := 1
	whole := 0
	best, birth := r.h.mark(), true
	promised := r.hard.Promised
	number := max(promised.Number, c.tried.Number)
	if r.mayPromise() {
		whole++
	}
	for _, p := range r.peers {
		if !r.reachable(p) {
			continue
		}
		reachable++
		if p.state.Trust == Whole {
			whole++
		}
		if best.Compare(p.state.Last) < 0 {
			best = p.state.Last
		}
		number = max(number, p.state.Promised.Number, p.state.Last.Epoch.Number)
		if promised.Less(p.state.Promised) {
			promised = p.state.Promised
		}
	}
	birth = best.Epoch.IsZero() && reachable == len(r.cfg.Hosts)
	c.idle = !c.wanted() && (r.living() != 0 || r.followed() != 0 || c.command == 0 && !r.designated(best))
	if c.idle || r.now.Before(r.retryAt) {
		return
	}
	late := !r.now.Before(c.began.Add(r.cfg.HeartbeatTimeout))
	if c.command == 0 && !c.handed && r.mayMeet(promised.Host, reachable, late) {
		return
	}
	enough := whole >= r.need() && r.mayPromise()
	switch {
	case enough, birth:
	case c.force && (late || reachable == len(r.cfg.Hosts)):
	case r.cfg.AllowLoss && late && r.mayPromise():
	default:
		return
	}
	c.birth = birth && !enough
	if r.hard.Trust == Lost && !birth { // by force; it may have used numbers that it does not remember
		number = max(number, uint64(max(0, r.now.UnixMilli())))
	}
	c.epoch = Epoch{number + 1, r.cfg.Self}
	c.tried = c.epoch
	c.stage = asking
	c.asked, c.answers = map[HostID]uint64{}, map[HostID]*Message{}
}

// mayMeet reports whether a source may live of which this host has not heard yet.
// Whoever was promised the highest epoch that is known may be it. So may a host that
// got the promises of q others, if so many have not been heard. Both are waited for, and
// no longer than the heartbeat timeout; but for ever when both are so: then nothing would
// count here, and two hosts whose connection flaps would overtake each other by turns.
func (r *Replica) mayMeet(promised HostID, reachable int, late bool) bool {
	p := r.peer(promised)
	away := len(r.cfg.Hosts)-reachable >= r.q
	if late {
		return away && p != nil
	}
	return away || p != nil && !r.reachable(p)
}

// designated reports whether this host begins by itself.
func (r *Replica) designated(best Mark) bool {
	if best.Epoch.IsZero() {
		return r.cfg.Master == r.cfg.Self
	}
	return best.Epoch.Host == r.cfg.Self
}

// need is how many hosts must promise this host an epoch: q, but the source of a
// single queue that has promised nobody else needs only itself, since no other
// host can have been promised one without it; but by force, which shows as a
// later epoch at somebody.
func (r *Replica) need() int {
	if !r.hard.Single || r.hard.Promised.Host != r.cfg.Self {
		return r.q
	}
	for _, p := range r.peers {
		if r.reachable(p) && r.hard.Promised.Less(p.state.Promised) {
			return r.q
		}
	}
	return 1
}

// ask sends out what has not been asked yet, and counts the answers.
func (r *Replica) ask() {
	c := r.campaign
	if c.answers[r.cfg.Self] == nil {
		c.askedAt = r.now
		c.answers[r.cfg.Self] = r.answerMessage(c.epoch)
	}
	open := 0
	for _, p := range r.peers {
		if !r.reachable(p) {
			continue
		}
		if c.asked[p.id] != p.conn {
			c.asked[p.id] = p.conn
			r.send(p, &Message{Type: MsgAsk, Epoch: c.epoch, Last: r.h.mark(), Force: c.force, Command: c.wanted(), Newborn: c.birth})
		}
		if c.answers[p.id] == nil {
			open++
		}
	}
	promised, whole, single := 0, 0, false
	for _, a := range c.answers {
		single = single || a.Single != 0 && a.Single != r.cfg.Self
		if a.OK {
			promised++
			if a.Trust == Whole {
				whole++
			}
		}
	}
	waited := r.now.Sub(c.askedAt)
	late := waited >= r.cfg.HeartbeatInterval
	if open > 0 && waited < r.cfg.HeartbeatInterval/4 {
		return // one more history may save its host from setting anything aside
	}
	allowed := r.cfg.AllowLoss && !single && waited >= r.cfg.HeartbeatTimeout
	switch {
	case c.birth && promised == len(r.cfg.Hosts):
	case whole >= r.need() && (!c.birth || r.mayPromise()):
	case (c.force && (open == 0 || late) || allowed) && !c.birth:
		c.lossy = true
		r.reportForce(promised)
	case c.birth && late:
		r.retryCampaign() // somebody has left, or has a history after all
		return
	default:
		return
	}
	c.stage = promising
	if c.birth && r.hard.Birth.IsZero() {
		r.hard.Birth = c.epoch
	}
	r.promise(c.epoch)
}

// choose finds the best of the histories of those who have promised.
func (r *Replica) choose() {
	c := r.campaign
	c.donor, c.target = r.cfg.Self, r.h.mark()
	for _, id := range r.cfg.Hosts {
		if a := c.answers[id]; a != nil && a.OK && c.target.Compare(a.Last) < 0 {
			c.donor, c.target = id, a.Last
		}
	}
	if c.birth && !c.target.Epoch.IsZero() {
		r.retryCampaign()
		return
	}
	c.stage = backfilling
	if c.donor == r.cfg.Self {
		return
	}
	if p := r.peer(c.donor); r.reachable(p) {
		r.send(p, &Message{Type: MsgFetch, Epoch: c.epoch})
	}
}

// backfill waits for the donor's feed to bring everything, and opens the epoch.
func (r *Replica) backfill() {
	c := r.campaign
	if c.donor != r.cfg.Self && r.h.mark() != c.target {
		if p := r.peer(c.donor); !r.reachable(p) || c.asked[p.id] != p.conn {
			r.retryCampaign() // the donor is gone; another may be the best now
		}
		return
	}
	if r.changing.kind != changeNone {
		return
	}
	if r.hard.Trust != Whole { // a birth, or by force
		h := r.hard
		h.Trust = Whole
		if c.birth {
			h.Birth = c.epoch
		}
		r.write(h)
	}
	if !r.keeps() {
		return
	}
	r.follow = nil
	r.campaign = nil
	r.becomeSource(c)
}

// reportForce says what a take-over without enough promises may lose.
func (r *Replica) reportForce(promised int) {
	c := r.campaign
	n := Notice{Kind: NoticeForced}
	for _, id := range r.cfg.Hosts {
		report := HostReport{Host: id}
		if a := c.answers[id]; a != nil {
			report = HostReport{Host: id, Reachable: true, Promises: a.OK, Last: a.Last, Counted: a.Counted, Trust: a.Trust}
		}
		n.Reports = append(n.Reports, report)
	}
	n.Text = fmt.Sprintf("take-over in epoch %v with %d of %d needed promises: entries that counted and that only the hosts that did not promise hold are lost",
		c.epoch, promised, r.need())
	r.notice(n)
}

// onAsk hears a candidate. A promise is answered once it is flushed.
func (r *Replica) onAsk(p *peer, m *Message) {
	if m.Epoch.Host != p.id {
		r.violation(p, fmt.Sprintf("host %d asks for epoch %v of another host", p.id, m.Epoch))
		return
	}
	if why := r.refusal(p, m); why != "" {
		a := r.answerMessage(m.Epoch)
		a.OK, a.Why, a.Source = false, why, r.living()
		r.send(p, a)
		return
	}
	p.owes = m.Epoch
	if m.Epoch == r.hard.Promised {
		return
	}
	r.stepDown(fmt.Sprintf("host %d takes over in epoch %v", p.id, m.Epoch))
	if r.campaign != nil {
		r.retryCampaign()
	}
	r.delay()
	r.retryAt = r.retryAt.Add(r.cfg.HeartbeatTimeout) // the candidate has that long
	if m.Newborn && r.hard.Trust == Lost && r.hard.Birth.IsZero() {
		r.hard.Birth = m.Epoch
	}
	r.promise(m.Epoch)
	r.granted = grant{host: p.id, conn: p.conn, until: r.now.Add(r.cfg.HeartbeatTimeout)}
}

// refusal says why a host does not promise; empty: it does.
func (r *Replica) refusal(p *peer, m *Message) string {
	single := r.singleHost()
	newborn := m.Newborn && r.hard.Trust == Lost && r.h.mark().Epoch.IsZero()
	living := r.living()
	switch c := r.campaign; {
	case m.Epoch.Less(r.hard.Promised):
		return fmt.Sprintf("promised epoch %v", r.hard.Promised)
	case m.Force:
		return ""
	case !m.Command && living == r.cfg.Self:
		return "it is the source"
	case !m.Command && living != 0 && living != p.id:
		return fmt.Sprintf("hears the source, host %d", living)
	case c != nil && c.outranks(m):
		return fmt.Sprintf("asks for epoch %v itself", c.epoch)
	case r.hard.Trust != Whole && !newborn:
		return fmt.Sprintf("may have lost what it acknowledged or promised (%v): it promises nothing before it has caught up with a source", r.hard.Trust)
	case single != 0 && single != p.id:
		return fmt.Sprintf("the queue is single: only host %d may take over, or any by force", single)
	}
	return ""
}

func (r *Replica) singleHost() HostID {
	if r.hard.Single {
		return r.cfg.Self
	}
	return r.h.single()
}

// settleAnswers answers the candidate whose promise is flushed by now.
func (r *Replica) settleAnswers() {
	if !r.keeps() {
		return
	}
	for _, p := range r.peers {
		if p.owes.IsZero() {
			continue
		}
		a := r.answerMessage(p.owes)
		a.OK = p.owes == r.hard.Promised
		if !a.OK {
			a.Why = fmt.Sprintf("promised epoch %v", r.hard.Promised)
		}
		p.owes = Epoch{}
		r.send(p, a)
	}
}

func (r *Replica) answerMessage(e Epoch) *Message {
	return &Message{
		Type: MsgAnswer, Epoch: e, OK: true, Promised: r.written.Promised, Last: r.h.mark(),
		Counted: r.counted, Trust: r.hard.Trust, Single: r.singleHost(),
	}
}

func (r *Replica) onAnswer(p *peer, m *Message) {
	c := r.campaign
	if c == nil || c.stage != asking || m.Epoch != c.epoch || c.asked[p.id] != p.conn {
		return
	}
	c.answers[p.id] = m
	switch {
	case m.OK:
	case c.epoch.Less(m.Promised):
		p.state = withPromise(p.state, m.Promised)
		r.retryCampaign()
	case m.Source != 0 && !c.wanted(): // it has said so before, in its State
		r.retryCampaign()
	}
}

// withPromise notes a higher promise of a peer, so that the next epoch passes it.
func withPromise(state *Message, e Epoch) *Message {
	m := *state
	m.Promised = e
	return &m
}

// waitsFor names the hosts without which this one cannot become the source.
func (r *Replica) waitsFor() (string, []HostID) {
	c := r.campaign
	var away, unwell []HostID
	for _, p := range r.peers {
		switch {
		case !r.reachable(p):
			away = append(away, p.id)
		case p.state.Trust != Whole:
			unwell = append(unwell, p.id)
		}
	}
	switch {
	case c.stage == backfilling && c.donor == r.cfg.Self:
		return "the epoch is being opened", nil
	case c.stage == backfilling:
		return fmt.Sprintf("takes what it lacks from host %d", c.donor), []HostID{c.donor}
	case c.stage == asking, c.stage == promising:
		var open []HostID
		for _, p := range r.peers {
			if a := c.answers[p.id]; a == nil || !a.OK {
				open = append(open, p.id)
			}
		}
		need := r.need()
		if c.birth {
			need = len(r.cfg.Hosts)
		}
		return fmt.Sprintf("promises of epoch %v that are needed: %d", c.epoch, need), open
	case r.hard.Trust == Lost && r.h.mark().Epoch.IsZero():
		return "a new queue begins when all its hosts are there, or by force", away
	case !r.mayPromise():
		return fmt.Sprintf("this host may have lost what it acknowledged or promised (%v): it must catch up with a source, or be forced", r.hard.Trust), nil
	}
	return fmt.Sprintf("promises that are needed: %d", r.need()), append(away, unwell...)
}
